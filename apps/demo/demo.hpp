// SPDX-License-Identifier: Apache-2.0
// Declarations for both processes of the demonstration. The initiator prints the narration. The
// target is the peer whose memory the initiator writes and reads; the target reports its
// observations to the initiator's process through a pipe.
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
/// Maximum time that a process waits for a step of the other process.
inline constexpr Timeout kDemoPatience = 20s;
/// The Terminate that a Write to an invalidated STag must cause: layer DDP, tagged buffer error,
/// invalid STag.
inline constexpr bytes::Fault kDemoRefusal{bytes::Layer::kDdp, 1, 0x00, "invalid STag"};

/// Returns byte `index` of the test pattern that the initiator writes. `seed` selects the pattern.
constexpr std::byte demo_octet(std::size_t index, unsigned seed) {
  return static_cast<std::byte>((index * 7 + index / 251 + seed) & 0xFF);
}
/// Returns "1 octet" or "64 octets", for example.
std::string octets_text(std::uint64_t count);
void fill_pattern(bytes::Span octets, unsigned seed);
/// Throws Error if `octets` differs from the pattern. The text names the first byte that differs;
/// `whose` says to whom the memory belongs.
void check_pattern(bytes::View octets, unsigned seed, const std::string& whose);

inline constexpr unsigned kDemoFirstWrite = 1;   ///< pattern seed of the Write that succeeds
inline constexpr unsigned kDemoSecondWrite = 2;  ///< pattern seed of the Write that is refused

/// Waits for an event of `type` on `session`, checks that it contains `kDemoRefusal`, and returns
/// the text of the Terminate.
std::string await_terminate(Session& session, verbs::AsyncEventType type);

/// Runs the target, in its own process, and writes its reports to `report_fd`. Returns the exit
/// status.
int run_demo_target(const DemoOptions& options, int report_fd);

}  // namespace iwarp::apps
