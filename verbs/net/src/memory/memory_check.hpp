// SPDX-License-Identifier: Apache-2.0
// May this process use this memory? Asked before an STag is given out. [RDMAP-123] [SEC-33]
#pragma once

#include <cstddef>
#include <span>

namespace iwarp::net {

/// True when every octet lies in a mapping that is readable and, with `writable`, writable. Touches
/// no memory. What the program unmaps or protects later is noticed when it is touched, see
/// fault_handler.hpp.
bool is_mapped(std::span<const std::byte> octets, bool writable);

}  // namespace iwarp::net
