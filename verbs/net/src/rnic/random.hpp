// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iwarp::net {

/// Unpredictable for peers. Aborts where there is no randomness: guessable numbers would be worse.
std::uint32_t random_word();

}  // namespace iwarp::net
