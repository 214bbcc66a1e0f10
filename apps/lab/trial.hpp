// SPDX-License-Identifier: Apache-2.0
// Random sessions, to hold two builds of the stack against each other: what a seed gives is the
// same on every machine.
#pragma once

#include <cstdint>

namespace iwarp::apps::lab {

/// Over every octet, completion and octet of memory of `count` sessions from that seed on; of some
/// also over what the decoder says of them.
std::uint64_t digest_of_trials(std::uint32_t seed, std::uint32_t count);

}  // namespace iwarp::apps::lab
