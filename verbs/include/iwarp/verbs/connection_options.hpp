// SPDX-License-Identifier: Apache-2.0
// Options of a connection.
#pragma once

#include <chrono>

#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::verbs {

using mpa::Duration;
using mpa::TimePoint;

/// When inbound payload is copied to application memory.
enum class Placement : std::uint8_t {
  kVerified,  ///< after its CRC has been checked (RFC 5044 section 6)
  kDirect,    ///< Deviation: while it is received; a wrong CRC leaves the buffer undefined
};

/// When a signalled Send or Write completes.
enum class Completions : std::uint8_t {
  kSent,  ///< when TCP has accepted all of it (RFC 5040 section 5.5)
  /// When the peer has placed it; a request that the peer refuses fails itself. This end asks by an
  /// empty RDMA Read after each batch of requests, for which it offers the peer four more ORD and
  /// IRD than the application's. With an ORD of 0, as kSent.
  kAcknowledged,
};

/// What the peer is sent when a request fails because of this end, a wrong lkey for example.
enum class LocalErrors : std::uint8_t {
  kTerminate,  ///< a Terminate "local catastrophic error" [RDMAP-92]
  /// Deviation: only a FIN. InfiniBand does not report such an error to the peer, and programs
  /// written for it take a Terminate for a fault of their own end.
  kDepart,
};

/// Options of one connection. The defaults suit unknown peers, see rfc-notes/peers.md.
struct ConnectionOptions {
  /// Options of the MPA set-up.
  mpa::StartupOptions startup{.round_ird = true, .extensions = true};
  Placement placement = Placement::kVerified;          ///< when payload is placed
  Completions completions = Completions::kSent;        ///< when requests complete
  LocalErrors local_errors = LocalErrors::kTerminate;  ///< what the peer learns of local errors
  /// Octets of a ULPDU at most; 0: derived from the EMSS [MPA-53]. Clamped to 128..64768.
  std::size_t max_ulpdu = 0;
  std::size_t stage = 256 * 1024;           ///< octets read ahead at most
  std::size_t transmit_batch = 256 * 1024;  ///< octets framed ahead at most
  /// How long a Send for which no receive is posted waits for one, while nothing more is read; then
  /// this end sends Terminate 1/2/02. 0: at once. With Completions::kSent, disconnect() ends the
  /// wait in the same way.
  Duration receive_hold = std::chrono::seconds(0);
  /// Limit of the Terminate and Closing states [VRB-12], and of how long a close waits for requests
  /// to drain while no octet moves.
  Duration close_timeout = std::chrono::seconds(5);
  /// With Completions::kAcknowledged: how long an end that closes, or is destroyed, waits for the
  /// peer's Read that asks about the last messages, since it cannot answer after its FIN. Limited
  /// because a peer that did not signal its last requests does not ask. Must exceed the time that a
  /// thread of the peer may wait for a processor.
  Duration ack_request_wait = std::chrono::milliseconds(200);
  /// Initiator: how long it delays its first FPDU after the Reply; less than close_timeout. A
  /// work-around for responders that send the Reply before they watch the socket again (kernel siw
  /// before a fix) and miss an FPDU that arrives in between until more octets arrive. Nothing that
  /// they send identifies such responders. 100 ms was enough in every trial.
  Duration first_fpdu_delay = std::chrono::seconds(0);
  /// How long after the last transmission the driver may delay a small request to coalesce it with
  /// others, while the application has not polled its completion queues empty since the previous
  /// request. 0: not at all.
  Duration gather_delay = std::chrono::microseconds(50);
};

}  // namespace iwarp::verbs
