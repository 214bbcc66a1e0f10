// SPDX-License-Identifier: Apache-2.0
// Messages of the file protocol over a Session: receives stay posted, messages go out inline.
#pragma once

#include <variant>

#include "common/serving/session.hpp"
#include "transfer/messages.hpp"

namespace iwarp::apps {

/// What next() saw: a message, or the completion of a data request.
using StreamEvent = std::variant<Message, verbs::WorkCompletion>;

class MessageStream {
 public:
  /// Posts the receives; construct before connecting or accepting.
  MessageStream(Session& session, Timeout time_limit);

  void send(const Message& message);
  /// Sends `message` and invalidates the peer's `stag`. Completes with `wr_id`.
  void send_invalidate(const Message& message, verbs::Stag stag, std::uint64_t wr_id);

  /// The next message or data completion. PeerGone, Interrupted; Error: nothing came within the
  /// time limit, or the peer broke the protocol.
  StreamEvent next();
  /// The next one, which must be an M: a Refusal or anything else is an Error.
  template <typename M>
  M expect();

  Session& session() { return session_; }

 private:
  static constexpr std::uint64_t kReceiveId = 1ULL << 32;  ///< + index; data requests stay below
  /// Windows and a Finish, or Pieces and a Done, and something to spare.
  static constexpr std::size_t kReceives = 2 * kMaxWindows;

  std::span<std::byte> slot(std::size_t index) {
    return buffer_.octets().subspan(index * kMaxMessage, kMaxMessage);
  }

  Session& session_;
  const Timeout time_limit_;
  Buffer buffer_;
};

/// What a peer's message that does not fit here means for us: an Error with its words.
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
