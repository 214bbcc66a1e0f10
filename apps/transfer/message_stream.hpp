// SPDX-License-Identifier: Apache-2.0
// MessageStream: sends and receives the messages of the file protocol over a Session. It posts all
// receives in advance, and sends messages inline.
#pragma once

#include <variant>

#include "common/serving/session.hpp"
#include "transfer/messages.hpp"

namespace iwarp::apps {

/// The result of next(): a message from the peer, or the completion of a data request.
using StreamEvent = std::variant<Message, verbs::WorkCompletion>;

class MessageStream {
 public:
  /// Posts the receives. Construct the MessageStream before connecting or accepting.
  MessageStream(Session& session, Timeout time_limit);

  void send(const Message& message);
  /// Sends `message` with a Send with Invalidate for the peer's `stag`. The request completes with
  /// `wr_id`.
  void send_invalidate(const Message& message, verbs::Stag stag, std::uint64_t wr_id);

  /// Returns the next message, or the completion of a data request. Throws Error if nothing arrives
  /// within the time limit or if the peer violates the protocol. Also throws PeerGone and
  /// Interrupted.
  StreamEvent next();
  /// Returns the next message, which must be of type M. Throws Error if it has another type, for
  /// example Refusal.
  template <typename M>
  M expect();

  Session& session() { return session_; }

 private:
  /// Receives have wr_ids from this value on; data requests have lower ones.
  static constexpr std::uint64_t kReceiveId = 1ULL << 32;
  /// Number of receives. It suffices for all Windows and a Finish, or for all Pieces and a Done,
  /// and leaves a margin.
  static constexpr std::size_t kReceives = 2 * kMaxWindows;

  std::span<std::byte> slot(std::size_t index) {
    return buffer_.octets().subspan(index * kMaxMessage, kMaxMessage);
  }

  Session& session_;
  const Timeout time_limit_;
  Buffer buffer_;
};

/// Throws Error for an event that is not permitted at this point. If it is a Refusal, the text of
/// the error contains the peer's reason.
[[noreturn]] void refuse_message(const StreamEvent& event);

template <typename M>
M MessageStream::expect() {
  auto event = next();
  if (auto* message = std::get_if<Message>(&event)) {
    if (auto* wanted = std::get_if<M>(message)) return std::move(*wanted);
  }
  refuse_message(event);
}

}  // namespace iwarp::apps
