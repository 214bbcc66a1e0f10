// SPDX-License-Identifier: Apache-2.0
// Random sessions, to compare two builds of the stack: a seed gives the same session on every
// machine.
#pragma once

#include <cstdint>

namespace iwarp::apps::lab {

/// Returns a digest of every octet, completion and octet of memory of `count` sessions, beginning
/// with that seed; for some of them also of the decoder's output.
std::uint64_t digest_of_trials(std::uint32_t seed, std::uint32_t count);

}  // namespace iwarp::apps::lab
