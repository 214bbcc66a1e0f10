// SPDX-License-Identifier: Apache-2.0
// What a connection tells its driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "iwarp/mpa/startup.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::verbs {

struct ConnectionEvent {
  enum class Type : std::uint8_t {
    kRequest,  ///< responder: accept() or reject() now
    kEstablished,
    kRejected,      ///< initiator: the peer's private data may say why; TCP is still open [MPA-91]
    kFailed,        ///< set-up failed: `failure`
    kDisconnected,  ///< the stream is over; the QP has left RTS
    kMemoryGone,    ///< registered memory at `address` is no longer there; the stream ends
  };
  Type type;
  std::optional<mpa::Failure> failure;
  const std::byte* address = nullptr;
};

/// What there is to send.
enum class Output : std::uint8_t {
  kNone,
  kQuestions,  ///< only Reads that ask the peer for an acknowledgement, which can wait
  kMessages,   ///< more than that, maybe
};

/// What the driver shall do with the socket.
enum class SocketAction : std::uint8_t {
  kNone,
  kShutdownSend,  ///< half close (FIN); once
  kClose,         ///< close; nothing is left to send
  kDepart,        ///< half close (FIN), drop what still comes, and close
  kReset,         ///< abortive close (RST)
};

}  // namespace iwarp::verbs
