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
  kVerified,  ///< after the CRC has been checked (RFC 5044 section 6)
  kDirect,  ///< Deviation: while it arrives; after a wrong CRC the buffer's contents are undefined
};

/// When a signalled Send or Write completes.
enum class Completions : std::uint8_t {
  kSent,  ///< when TCP has accepted the whole message (RFC 5040 section 5.5)
  /// When the peer has placed the message. If the peer refuses a request, that request itself
  /// fails. To ask the peer, this end sends an empty RDMA Read after each batch of requests; for
  /// these Reads it offers the peer four more ORD and IRD than the application asked for. With an
  /// ORD of 0, requests complete as with kSent.
  kAcknowledged,
};

/// What this end sends to the peer when a request fails because of an error of this end, a wrong
/// lkey for example.
enum class LocalErrors : std::uint8_t {
  kTerminate,  ///< a Terminate "local catastrophic error" [RDMAP-92]
  /// Deviation: only a FIN. InfiniBand does not report such an error to the peer, and programs
  /// written for InfiniBand take a Terminate for a fault of their own end.
  kDepart,
};

/// Options of one connection. The defaults are chosen for peers of any implementation, see
/// rfc-notes/peers.md.
struct ConnectionOptions {
  /// Options of the MPA set-up.
  mpa::StartupOptions startup{.round_ird = true, .extensions = true};
  Placement placement = Placement::kVerified;    ///< when inbound payload is placed
  Completions completions = Completions::kSent;  ///< when requests complete
  /// What the peer is sent after an error of this end.
  LocalErrors local_errors = LocalErrors::kTerminate;
  /// Largest ULPDU to send, in octets; 0 derives it from the EMSS [MPA-53]. Clamped to 128..64768.
  std::size_t max_ulpdu = 0;
  std::size_t stage = 256 * 1024;           ///< largest number of octets read ahead
  std::size_t transmit_batch = 256 * 1024;  ///< largest number of octets framed ahead
  /// How long an inbound Send waits if no receive is posted. This end reads nothing more meanwhile,
  /// and sends Terminate 1/2/02 if none is posted in that time; with 0 it does so at once. With
  /// Completions::kSent, disconnect() ends the wait in the same way.
  Duration receive_hold = std::chrono::seconds(0);
  /// How long the queue pair stays in the Terminate and Closing states at most [VRB-12], and how
  /// long a close waits, while no octet is transferred, for requests to drain.
  Duration close_timeout = std::chrono::seconds(5);
  /// With Completions::kAcknowledged: how long an end that closes, or is destroyed, waits for the
  /// peer's Read that asks about the last messages: after its FIN, this end cannot answer. The wait
  /// is limited because a peer that did not signal its last requests does not ask. It must be
  /// longer than a thread of the peer may have to wait for a processor.
  Duration ack_request_wait = std::chrono::milliseconds(200);
  /// Initiator: how long it delays its first FPDU after the Reply; less than close_timeout. Works
  /// around responders (kernel siw before a fix) that watch the socket only some time after they
  /// have sent the Reply. They do not notice an FPDU that arrives in between until more octets
  /// arrive. Such responders cannot be recognised by what they send. 100 ms was enough in every
  /// trial.
  Duration first_fpdu_delay = std::chrono::seconds(0);
  /// How long after the last transmission the driver may delay a small request to coalesce it with
  /// others, while the application has not polled its completion queues empty since the previous
  /// request. With 0 it delays none.
  Duration gather_delay = std::chrono::microseconds(50);
};

}  // namespace iwarp::verbs
