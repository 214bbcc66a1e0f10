// SPDX-License-Identifier: Apache-2.0
// What a program may choose for a connection.
#pragma once

#include <chrono>

#include "iwarp/mpa/startup.hpp"
#include "iwarp/verbs/now.hpp"

namespace iwarp::verbs {

using mpa::Duration;
using mpa::TimePoint;

enum class Placement : std::uint8_t {
  kVerified,  ///< CRC first, then into application memory (RFC 5044 section 6)
  kDirect,    ///< Deviation: placed while received; a wrong CRC then leaves the buffer undefined
};

/// When a signalled Send or Write completes.
enum class Completions : std::uint8_t {
  kSent,  ///< TCP has all of it (RFC 5040 section 5.5)
  /// The peer has placed it, or refused it, and then it is this request that fails. An empty RDMA
  /// Read asks for that, behind as many requests as have gathered. The ORD and IRD said to the peer
  /// are four more than the program's for it. With an ORD of 0 it is as kSent.
  kAcknowledged,
};

/// What the peer is told when a request fails for a reason of this end's own, a wrong L_Key for
/// example.
enum class LocalErrors : std::uint8_t {
  kTerminate,  ///< a Terminate that says "local catastrophic error" [RDMAP-92]
  /// Deviation: no more than a FIN. Programs for InfiniBand take a Terminate for a fault of their
  /// own end: the peer of a request that never left is not in error there.
  kDepart,
};

struct ConnectionOptions {
  /// Fit for unknown peers, see rfc-notes/peers.md.
  mpa::StartupOptions startup{.round_ird = true, .extensions = true};
  Placement placement = Placement::kVerified;
  Completions completions = Completions::kSent;
  LocalErrors local_errors = LocalErrors::kTerminate;
  /// ULPDU size limit; 0: from the EMSS [MPA-53]. Clamped to 128..64768.
  std::size_t max_ulpdu = 0;
  std::size_t stage = 256 * 1024;           ///< octets read ahead at most
  std::size_t transmit_batch = 256 * 1024;  ///< octets framed ahead at most
  /// How long a Send that finds no receive posted may wait for one while nothing more is read; then
  /// Terminate 1/2/02. 0: at once. With Completions::kSent disconnect() ends the wait the same way.
  Duration receive_hold = std::chrono::seconds(0);
  /// Bounds the Terminate and Closing states [VRB-12], and how long a close waits for requests to
  /// drain while no octet moves.
  Duration close_timeout = std::chrono::seconds(5);
  /// Where completions are acknowledged: how long an end that closes, or is destroyed, waits for
  /// the peer's Read that asks about the messages it received last, since it cannot answer after
  /// its FIN. The limit is needed because a peer that did not signal its last requests does not
  /// ask. It has to cover the time that a thread of the peer waits for a processor.
  Duration ack_request_wait = std::chrono::milliseconds(200);
  /// Initiator: how long it waits between the Reply and its first FPDU; less than close_timeout. A
  /// work-around for responders that send the Reply before they watch the socket again (kernel siw
  /// before a repair): they do not notice a first FPDU that comes in between until more octets
  /// come. Such a responder cannot be recognised by what it sends. 100 ms were enough in every
  /// trial.
  Duration first_fpdu_delay = std::chrono::seconds(0);
  /// How long after the last transmission a small request may wait for others to be sent with it,
  /// while its program has not polled its completion queues empty since the request before. Used
  /// by the driver. 0: none waits.
  Duration gather_delay = std::chrono::microseconds(50);
};

}  // namespace iwarp::verbs
