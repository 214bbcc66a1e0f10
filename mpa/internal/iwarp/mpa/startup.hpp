// SPDX-License-Identifier: Apache-2.0
// Startup: the MPA connection set-up of both roles (RFC 5044 section 7.1, RFC 6581). Startup runs
// the startup state machine. The driver passes octets and the time as arguments. Only the driver
// can retry with another revision, because that needs a new TCP connection (see Failure). The TCP
// stream may have carried other data before: startup begins at the first octet that the driver
// passes to receive() [MPA-63].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/mpa/startup_fsm.hpp"
#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::mpa {

/// The set-up of one connection. Not thread-safe. Once `now` has reached timeout(), calls of
/// receive() and closed() do nothing but end startup with a timeout.
class Startup {
 public:
  /// Clamps options that are out of range.
  Startup(Role role, const StartupOptions& options);

  /// Initiator: queues the Request and starts the timer. Returns false, and does nothing, if the
  /// private data has more than 512 octets (508 with revision 2), or the state is not kIdle.
  /// [MPA-80] [EMPA-10]
  bool request(bytes::View private_data, TimePoint now);
  /// Responder: reports that the TCP connection exists, and starts the timer. [MPA-99]
  void listen(TimePoint now);

  /// Processes stream octets, and returns how many of them belong to startup. The octets after
  /// these belong to full operation or, after a rejection, to the ULP's TCP stream. Octets that
  /// arrive after a Request and before the ULP's decision are a protocol error. After a failure all
  /// octets are dropped. Poll state() and transmit() afterwards.
  std::size_t receive(bytes::View octets, TimePoint now);
  /// Reports that the peer closed or reset TCP. Does nothing once startup is over.
  void closed(TimePoint now);

  /// Responder in kAwaitDecision: queues the Reply. `ird` and `ord` are the values that the ULP
  /// wants. Startup lowers the ORD to the peer's IRD, and raises an IRD of 0 to 1 if the RTR is a
  /// Read (RFC 6581 section 9.1); negotiated() has the result. Returns false, and does nothing, if
  /// the private data has more than 512 octets (508 if the Request was enhanced), or the state is
  /// not kAwaitDecision.
  bool accept(bytes::View private_data, std::uint16_t ird, std::uint16_t ord);
  /// Responder in kAwaitDecision: queues a Reply that rejects the Request. Returns false in the
  /// same cases as accept().
  bool reject(bytes::View private_data);

  /// Returns the octets to send, valid until the next call that is not const. After sending them,
  /// call transmitted().
  bytes::View transmit() const {
    if (state_ == StartupState::kFailed) return {};  // no Reply to a malformed Request [MPA-84]
    return bytes::View(out_).subspan(out_sent_);
  }
  /// Reports that the first `n` octets of transmit() have been sent.
  void transmitted(std::size_t n);

  /// Returns when to call handle_timeout(), or nullopt if the timer is not running.
  std::optional<TimePoint> timeout() const;
  /// Ends startup with a timeout if `now` is at or after timeout().
  void handle_timeout(TimePoint now);

  /// Returns the current state.
  StartupState state() const;
  /// Returns the ULP's part of the peer's private data, without the enhanced word and the
  /// extensions tag; valid while this object lives.
  bytes::View peer_private_data() const;
  /// Returns what the peer's frame offers; nullopt until the frame has been decoded.
  const std::optional<PeerOffer>& peer_offer() const;
  /// Returns the outcome of startup; valid in kFullOperation.
  const Negotiated& negotiated() const;
  /// Returns why startup failed. The result has a value in kFailed. In kFullOperation, the result
  /// has a value only if Failure::send_terminate is true.
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
  Extensions advertised_ = Extensions::kNone;       ///< initiator: extensions in the Request's tag
  Extensions peer_extensions_ = Extensions::kNone;  ///< extensions in the tag of the peer's frame
  std::optional<TimePoint> deadline_;
  std::optional<PeerOffer> offer_;
  Negotiated negotiated_;
  std::optional<Failure> failure_;
};

}  // namespace iwarp::mpa
