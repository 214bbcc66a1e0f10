// SPDX-License-Identifier: Apache-2.0
// Random sessions, by which two builds of the stack can be compared: a seed produces the same
// session on every machine.
#pragma once

#include <cstdint>

namespace iwarp::apps::lab {

/// Runs `count` sessions with the seeds from `seed` on. Returns a digest of all octets sent, all
/// log entries and all memory; for some sessions also of the decoder's output.
std::uint64_t digest_of_trials(std::uint32_t seed, std::uint32_t count);

}  // namespace iwarp::apps::lab
