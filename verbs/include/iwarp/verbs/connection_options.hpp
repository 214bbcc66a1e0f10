// SPDX-License-Identifier: Apache-2.0
// Options of a connection.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::verbs {

using mpa::Duration;
using mpa::TimePoint;

class Latitude;

/// When inbound payload is copied to application memory.
enum class Placement : std::uint8_t {
  kVerified,  ///< payload is copied after the CRC has been checked (RFC 5044 section 6)
  /// Deviation: payload is copied while it arrives; after a wrong CRC, the buffer's contents are
  /// undefined
  kDirect,
};

/// When a signaled Send or Write completes.
enum class Completions : std::uint8_t {
  kSent,  ///< completes when TCP has accepted the whole message (RFC 5040 section 5.5)
  /// Completes when the peer has placed the message. If the peer refuses a request, that request
  /// itself fails. After each batch of requests, this end sends an empty RDMA Read, whose response
  /// acknowledges the batch. For these Reads, this end offers an ORD and an IRD that are larger by
  /// four than those of the application. With an ORD of 0, requests complete as with kSent.
  kAcknowledged,
};

/// What this end sends to the peer when a request fails because of an error of this end, for
/// example a wrong lkey.
enum class LocalErrors : std::uint8_t {
  kTerminate,  ///< sends a Terminate "local catastrophic error" [RDMAP-92]
  /// Deviation: sends only a FIN. InfiniBand does not report such an error to the peer, and a
  /// program written for InfiniBand treats a Terminate as a fault of its own end.
  kDepart,
};

/// Options of one connection. The defaults are chosen to work with any peer, see
/// rfc-notes/peers.md.
struct ConnectionOptions {
  /// Options of the MPA set-up.
  mpa::StartupOptions startup{.round_ird = true, .extensions = true};
  Placement placement = Placement::kVerified;    ///< when inbound payload is placed
  Completions completions = Completions::kSent;  ///< when requests complete
  /// What this end sends to the peer after an error of this end.
  LocalErrors local_errors = LocalErrors::kTerminate;
  /// Largest ULPDU to send, in octets; 0 derives it from the EMSS [MPA-53]. Clamped to 128..64768.
  std::size_t max_ulpdu = 0;
  /// maximum number of octets received and not yet processed
  std::size_t stage = 512 * 1024;
  /// Maximum number of octets framed and not yet sent. The driver passes them to the socket with
  /// one system call, which may accept only a part of them.
  std::size_t transmit_batch = 1024 * 1024;
  /// How long an inbound Send waits if no receive is posted. During that time this end reads at
  /// most `stage` octets and handles only the peer's answers among them. If no receive is posted in
  /// that time, or if the value is 0, this end sends Terminate 1/2/02. With Completions::kSent,
  /// disconnect() ends the wait early and sends the same Terminate.
  Duration receive_hold = std::chrono::seconds(0);
  /// Maximum time that the queue pair stays in the Terminate and Closing states [VRB-12]. Also the
  /// maximum time without a transferred octet while a close waits for posted requests.
  Duration close_timeout = std::chrono::seconds(5);
  /// With Completions::kAcknowledged: how long this end, when it closes or is destroyed, waits for
  /// the Read with which the peer asks for an acknowledgement of the peer's last messages. After
  /// its FIN, this end cannot answer such a Read. The wait is limited because a peer that did not
  /// signal its last requests sends no Read. Must exceed the longest time that a thread of the peer
  /// may wait to be scheduled.
  Duration ack_request_wait = std::chrono::milliseconds(200);
  /// How long an initiator delays its first FPDU after the Reply; must be less than close_timeout.
  /// Works around responders (kernel siw before a fix) that begin to watch the socket only some
  /// time after they have sent the Reply. If an FPDU arrives before that time, such a responder
  /// notices the FPDU only when more octets arrive. The initiator cannot recognise such a responder
  /// by its frames. 100 ms was enough in every trial.
  Duration first_fpdu_delay = std::chrono::seconds(0);
  /// How long, counted from the last transmission, the driver may delay a request in order to
  /// coalesce it with others, of up to 128 KiB in all. The driver delays a request only if the
  /// application has not polled its completion queues empty since the previous request. 0 means
  /// that it delays no request.
  Duration gather_delay = std::chrono::microseconds(50);
  /// Makes the object that chooses when and in which order the connection accesses memory, within
  /// the limits of RFC 5040; see latitude.hpp. If empty, the connection accesses memory in the
  /// order of the stream.
  std::function<std::unique_ptr<Latitude>()> latitude{};
};

}  // namespace iwarp::verbs
