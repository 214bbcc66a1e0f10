// SPDX-License-Identifier: Apache-2.0
// Random sessions that compare two builds of the stack. A seed produces the same session on every
// machine.
#pragma once

#include <cstdint>

namespace iwarp::apps::lab {

/// Runs `count` sessions with the seeds `seed`, `seed` + 1 and so on. Returns a digest of all
/// octets sent, all log entries and all memory; for some sessions the digest includes the decoder's
/// output.
std::uint64_t digest_of_trials(std::uint32_t seed, std::uint32_t count);

}  // namespace iwarp::apps::lab
