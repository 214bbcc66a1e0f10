// SPDX-License-Identifier: Apache-2.0
// Startup: the MPA connection set-up of both roles (RFC 5044 section 7.1, RFC 6581).
// Owns the startup state machine. Sans-IO: octets and time come in as arguments. Retrying with
// another revision needs a new TCP connection and is therefore the driver's (see Failure).
// The stream may have carried something else before: startup begins wherever it is told to
// [MPA-63]. Deadlines are exact: at or after timeout() only the time-out happens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/mpa/startup_fsm.hpp"
#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::mpa {

class Startup {
 public:
  Startup(Role role, const StartupOptions& options);

  /// Initiator: queues the Request. private_data is at most 512 octets, 508 with revision 2; more:
  /// returns false and nothing happens. [MPA-80] [EMPA-10]
  bool request(bytes::View private_data, TimePoint now);
  /// Responder: the TCP connection exists; starts the timer. [MPA-99]
  void listen(TimePoint now);

  /// Takes stream octets; returns how many belong to startup. What is left over belongs to full
  /// operation, or after a rejection to the ULP's TCP stream. Octets behind a Request are left over
  /// only once the ULP decided; before that they are a protocol error, and after any failure all
  /// are dropped. Poll state() and transmit() afterwards.
  std::size_t receive(bytes::View octets, TimePoint now);
  /// The peer closed or reset. Means nothing once startup is over.
  void closed(TimePoint now);

  /// Responder in kAwaitDecision. `ird`/`ord`: what the ULP wants at this end; ord is cut to the
  /// peer's IRD and ird raised to 1 for a Read RTR (RFC 6581 section 9.1), see negotiated().
  /// private_data: at most 512 octets, 508 when the Request was enhanced. False: nothing happened.
  bool accept(bytes::View private_data, std::uint16_t ird, std::uint16_t ord);
  bool reject(bytes::View private_data);

  /// Octets to send, valid until the next non-const call; then transmitted(n).
  bytes::View transmit() const {
    if (state_ == StartupState::kFailed) return {};  // no Reply to a malformed Request [MPA-84]
    return bytes::View(out_).subspan(out_sent_);
  }
  void transmitted(std::size_t n);

  std::optional<TimePoint> timeout() const;
  void handle_timeout(TimePoint now);

  StartupState state() const;
  /// The peer's ULP private data, without the enhanced word and the tag of RFC 7306; valid while
  /// this object lives.
  bytes::View peer_private_data() const;
  /// After the peer's frame was understood.
  const std::optional<PeerOffer>& peer_offer() const;
  /// In kFullOperation.
  const Negotiated& negotiated() const;
  /// In kFailed; also in kFullOperation when send_terminate is set.
  const std::optional<Failure>& failure() const;

 private:
  void enter(StartupEvent event);
  void fail(StartupEvent event, const Fault& fault, bool retry_plain = false);
  std::size_t collect(FrameKind kind, bytes::View octets);
  void on_request(const StartupFrame& frame);
  void on_reply(const StartupFrame& frame);
  void learn(const StartupFrame& frame, bool enhanced);
  void learn_extensions(const StartupFrame& frame);
  void agree_on(Extensions agreed);
  std::optional<Fault> agree_on_reply();
  void reject_with(std::uint16_t ord, bytes::View private_data);
  void queue(StartupFrame frame, const EnhancedWord& word, bytes::View private_data,
             Extensions said = Extensions::kNone);

  Role role_;
  StartupOptions options_;
  StartupState state_ = StartupState::kIdle;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
  std::size_t out_sent_ = 0;
  std::size_t private_offset_ = kStartupHeaderSize;
  std::size_t private_size_ = 0;
  Extensions said_ = Extensions::kNone;             ///< initiator: in the Request
  Extensions peer_extensions_ = Extensions::kNone;  ///< in the peer's frame
  std::optional<TimePoint> deadline_;
  std::optional<PeerOffer> offer_;
  Negotiated negotiated_;
  std::optional<Failure> failure_;
};

}  // namespace iwarp::mpa
