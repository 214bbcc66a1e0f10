// SPDX-License-Identifier: Apache-2.0
// Checks that this process may use some memory, before an STag for it is issued. [RDMAP-123]
// [SEC-33]
#pragma once

#include <cstddef>
#include <span>

namespace iwarp::net {

/// Returns whether every octet lies in a mapping that is readable and, with `writable`, writable.
/// Touches no memory. If the application unmaps or protects the memory later, that is noticed when
/// it is accessed, see fault_handler.hpp.
bool is_mapped(std::span<const std::byte> octets, bool writable);

}  // namespace iwarp::net
