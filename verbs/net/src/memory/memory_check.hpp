// SPDX-License-Identifier: Apache-2.0
// Checks, before an STag for a memory range is issued, that this process may access the range.
// [RDMAP-123] [SEC-33]
#pragma once

#include <cstddef>
#include <span>

namespace iwarp::net {

/// Returns whether every octet lies in a mapping that is readable and, if `writable` is true,
/// writable. Does not access the memory. If the application unmaps or protects the memory later,
/// the handlers of fault_handler.hpp catch the fault when the memory is accessed.
bool is_mapped(std::span<const std::byte> octets, bool writable);

}  // namespace iwarp::net
