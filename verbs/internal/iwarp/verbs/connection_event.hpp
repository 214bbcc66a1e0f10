// SPDX-License-Identifier: Apache-2.0
// What a connection reports to its driver: events, pending output, and what to do with the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "iwarp/mpa/startup_types.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::verbs {

/// One event of a connection.
struct ConnectionEvent {
  /// What happened.
  enum class Type : std::uint8_t {
    kRequest,       ///< responder: a Request arrived; call accept() or reject()
    kEstablished,   ///< set-up is complete; the queue pair is in RTS
    kRejected,      ///< initiator: the peer rejected the Request; TCP is still open [MPA-91]
    kFailed,        ///< set-up failed, see `failure`; close the socket
    kDisconnected,  ///< the stream has ended; the queue pair is no longer in RTS
    kMemoryGone,    ///< registered memory at `address` is no longer mapped; the stream ends
  };
  Type type;
  std::optional<mpa::Failure> failure;  ///< why set-up failed, for kFailed
  const std::byte* address = nullptr;   ///< address of the missing memory, for kMemoryGone
};

/// What a connection has to send.
enum class Output : std::uint8_t {
  kNone,        ///< no output: transmit_plan() would be empty
  kAckRequest,  ///< only empty Reads, which ask for an acknowledgement; they can be delayed
  kMessages,    ///< there may be other messages; transmit_plan() returns them, if any
};

/// What the driver has to do with the socket.
enum class SocketAction : std::uint8_t {
  kNone,          ///< leave the socket unchanged
  kShutdownSend,  ///< half-close the socket (FIN); reported once
  kClose,         ///< close the socket; no output is pending
  kDepart,        ///< half-close the socket (FIN), discard further input, and close the socket
  kReset,         ///< reset the TCP connection (RST)
};

}  // namespace iwarp::verbs
