// SPDX-License-Identifier: Apache-2.0
// Moves octets between two processes on this machine, over loopback, and counts what it took: by
// plain sockets, or by this stack with RDMA Writes. Both end each phase with an answer of the
// receiver, so nothing is under way when the counts are taken. Linux only.
#pragma once

#include <functional>
#include <string>

#include "cost/record.hpp"

namespace iwarp::apps::cost {

/// Of every connection that is measured: it has no pacing. A timer for each segment is not in the
/// model; where the system's default is bbr and timers are a hypervisor's, it costs more than all
/// the rest of a transfer.
inline constexpr const char* kCongestion = "reno";

struct Job {
  std::string mode = "sockets";  ///< or "iwarp"
  std::uint64_t size = 65536;
  std::uint64_t messages = 0;  ///< 0: as many as take some `seconds`
  double seconds = 0.2;
  std::uint64_t fpdu = 0;           ///< iwarp: largest ULPDU; 0: what fits a segment
  std::string crc = "best";         ///< iwarp: "off", "best", or the name of a CRC32c kernel
  bool markers = false;             ///< iwarp
  std::uint64_t read = 256 * 1024;  ///< sockets: octets of a receive call; as the stack reads ahead
  std::string cpus = "same";        ///< "other": one processor each, "same", "any"
};

/// Error: what went wrong at either end.
Record measure(const Job& job);

/// Either end's part, in a process of its own. `say` and `hear` carry one line to and from the
/// other end before the measurement; what is returned goes to the parent.
struct Peer {
  std::function<void(const std::string&)> say;
  std::function<std::string()> hear;
};
Observed send_by_sockets(const Job& job, const Peer& peer, double& seconds);
Observed receive_by_sockets(const Job& job, const Peer& peer);
Observed send_by_iwarp(const Job& job, const Peer& peer, double& seconds);
Observed receive_by_iwarp(const Job& job, const Peer& peer);

/// What this process has used up so far: processor time, context switches, TCP segments.
Observed used_so_far();
/// `after` less `before`, counter by counter.
Observed difference(const Observed& after, const Observed& before);

/// Messages before the counts begin.
std::uint64_t warm_up(const Job& job);

/// By all TCP connections of this process so far, acknowledgements included.
double tcp_segments_sent();

}  // namespace iwarp::apps::cost
