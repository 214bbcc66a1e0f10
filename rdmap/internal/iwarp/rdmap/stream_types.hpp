// SPDX-License-Identifier: Apache-2.0
// Options of a Stream, and the segments that it passes to the layer below.
#pragma once

#include <array>
#include <cstdint>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {

/// Options of a Stream: the terms that MPA startup has negotiated.
struct StreamOptions {
  /// Largest number of unanswered Reads and Atomics of the peer [RDMAP-81] [RDMAP-118] [SEC-26]
  std::size_t ird = 16;
  std::size_t ord = 16;  ///< largest number of outstanding Reads and Atomics of this end [RDMAP-82]
  /// Refuse Atomics, and Reads of at least one octet, with kUnexpectedOpcode. `ird` then limits the
  /// empty Reads, which are the RTR or ask for acknowledgements.
  bool empty_reads_only = false;
  /// Responder: the RTR may be a Send. If the first message is an empty Send, it is the RTR.
  bool rtr_send_expected = false;
  bool extensions = false;  ///< both ends agreed to RFC 7306: opcodes 8 to B may arrive
  /// With `extensions`: an Immediate may announce the next Send (see kOfNextSend).
  bool send_immediate = false;
  /// With `send_immediate`: the peer's requests complete when this end has acknowledged them.
  bool peer_acknowledged = false;
};

/// OutSegment::token of the segments that answer a Read or Atomic of the peer.
inline constexpr std::uint64_t kAnswerToken = 1;

/// A segment ready for the layer below.
struct OutSegment {
  std::array<std::byte, ddp::kUntaggedHeaderSize + kMaxTerminateSize> header;
  /// Size of the DDP header and, if the message has one, of the RDMAP header, in octets.
  std::size_t header_size = 0;
  bytes::Gather payload;      ///< memory of the payload, valid until segment_taken()
  bool copy_payload = false;  ///< copy `payload`, because the peer may change it before it is sent
  /// If not 0, call sent(token) when the segment's last octet has been sent.
  std::uint64_t token = 0;
};

/// The message that serves as RTR (RFC 6581): an empty RDMA Write, RDMA Read or Send.
enum class RtrKind : std::uint8_t { kWrite, kRead, kSend };

}  // namespace iwarp::rdmap
