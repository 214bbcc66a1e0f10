// SPDX-License-Identifier: Apache-2.0
// The demonstration: what its two processes share. The initiator narrates; the target is the peer
// whose memory is written, read and protected, and reports what it saw through a pipe.
#pragma once

#include <cstdint>
#include <string>

#include "common/connection/options.hpp"
#include "common/serving/session.hpp"

namespace iwarp::apps {

struct DemoOptions {
  CommonOptions common;
  bool peer_markers = false;
  bool quiet = false;
  std::uint64_t size = 64;
};

inline constexpr std::uint64_t kDemoMaxSize = 64 << 20;
inline constexpr Timeout kDemoPatience = 20s;  ///< for any single step of the other process
/// What a write to an STag that is no more must end in: DDP, tagged buffer error, invalid STag.
inline constexpr bytes::Fault kDemoRefusal{bytes::Layer::kDdp, 1, 0x00, "invalid STag"};

/// Octet `index` of the pattern that is written; `seed` makes different ones.
constexpr std::byte demo_octet(std::size_t index, unsigned seed) {
  return static_cast<std::byte>((index * 7 + index / 251 + seed) & 0xFF);
}
void fill_pattern(bytes::Span octets, unsigned seed);
/// Error: the octet where `octets` differs from the pattern, and whose memory it is.
void check_pattern(bytes::View octets, unsigned seed, const std::string& whose);

inline constexpr unsigned kDemoFirstWrite = 1;   ///< the seed of the write that is allowed
inline constexpr unsigned kDemoSecondWrite = 2;  ///< and of the one that is not

/// Waits for the event of `type` on `session` and checks that it carries `kDemoRefusal`. Returns
/// the Terminate's text.
std::string await_terminate(Session& session, verbs::AsyncEventType type);

/// The target's process: reports to `report_fd`, returns the exit status.
int run_demo_target(const DemoOptions& options, int report_fd);

}  // namespace iwarp::apps
