// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iwarp::net {

/// Returns a number that peers cannot predict. Aborts if no randomness is available, because
/// predictable numbers would be a security hole.
std::uint32_t random_word();

}  // namespace iwarp::net
