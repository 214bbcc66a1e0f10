// SPDX-License-Identifier: Apache-2.0
// Options of a Stream, and the segments that it hands to the layer below.
#pragma once

#include <array>
#include <cstdint>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {

/// Options of a Stream: the terms that MPA startup has negotiated.
struct StreamOptions {
  std::size_t ird = 16;  ///< Reads and Atomics of the peer held at a time [RDMAP-81] [RDMAP-118]
                         ///< [SEC-26]
  std::size_t ord = 16;  ///< Reads and Atomics of this end outstanding at a time [RDMAP-82]
  /// Responder that negotiated the Send kind of RTR: the first Send, if empty, is that RTR.
  bool rtr_send_expected = false;
  bool extensions = false;  ///< both ends agreed to RFC 7306: opcodes 8 to B may arrive
  /// With `extensions`: an Immediate may belong to the Send after it.
  bool send_immediate = false;
  /// With `send_immediate`: the peer's requests complete when this end has acknowledged them.
  bool peer_acknowledged = false;
};

/// A segment ready for the layer below.
struct OutSegment {
  std::array<std::byte, ddp::kUntaggedHeaderSize + kMaxTerminateSize> header;
  std::size_t header_size = 0;  ///< DDP header and, if there is one, RDMAP header
  bytes::Gather payload;        ///< valid until segment_taken()
  bool copy_payload = false;    ///< the peer may change it before it is sent: copy it
  std::uint64_t token = 0;      ///< not 0: call sent(token) when its last octet has been sent
};

/// The message that serves as RTR (RFC 6581): an empty RDMA Write, RDMA Read or Send.
enum class RtrKind : std::uint8_t { kWrite, kRead, kSend };

}  // namespace iwarp::rdmap
