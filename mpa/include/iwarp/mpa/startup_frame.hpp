// SPDX-License-Identifier: Apache-2.0
// MPA Request and Reply frames (RFC 5044 section 7.1.1) and the RFC 6581 enhanced connection word.
// The codec judges shape only: key, lengths. Revision, flags and their consequences are startup's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/fault.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::mpa {

inline constexpr std::size_t kStartupHeaderSize = 20;
inline constexpr std::size_t kMaxPrivateData = 512;
inline constexpr std::size_t kEnhancedWordSize = 4;
/// More private data than this, the word included, is refused by some peers (kernel siw, cxgb4).
inline constexpr std::size_t kPortablePrivateData = 256;
/// The tag is left out where the private data, word and tag included, would become longer.
inline constexpr std::size_t kMaxTaggedPrivateData = 248;
/// IRD/ORD value that says "no automatic negotiation" (RFC 6581 section 9.1).
inline constexpr std::uint16_t kNoNegotiation = 0x3FFF;

enum class FrameKind : std::uint8_t { kRequest, kReply };

/// What an end speaks beyond RFC 5040; each includes the ones before it.
enum class Extensions : std::uint8_t {
  kNone,
  kRfc7306,
  kSendImmediate,  ///< an Immediate may belong to the Send behind it
  kAcknowledged,   ///< this end's requests complete when the peer has acknowledged them
};
/// What both ends have to speak for it; kAcknowledged is about one of them alone.
constexpr Extensions spoken(Extensions said) { return std::min(said, Extensions::kSendImmediate); }

/// The last octets of the private data of who speaks them (not kNone): an agreement of this stack
/// with itself, see rfc-notes/decisions/0010-agreeing-on-rfc-7306.md and 0024. A Reply has other
/// ones, so that a ULP that repeats the private data it was sent agrees to nothing.
constexpr std::string_view extensions_tag(FrameKind kind, Extensions said = Extensions::kRfc7306) {
  const bool request = kind == FrameKind::kRequest;
  if (said == Extensions::kAcknowledged) return request ? "7306 ack" : "ack. too";
  if (said == Extensions::kSendImmediate) return request ? "7306 imm" : "imm. too";
  return request ? "RFC 7306" : "7306 too";
}
inline constexpr std::size_t kExtensionsTagSize = 8;

//  0                   1                   2                   3
//  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
// |                     Key (16 octets)                           |
// |M|C|R|S|  Res  |     Rev       |          PD_Length            |
// |                Private data (PD_Length octets)                |
struct StartupFrame {
  FrameKind kind = FrameKind::kRequest;
  bool markers = false;   ///< M: "I need markers in what you send me"
  bool crc = true;        ///< C
  bool rejected = false;  ///< R, only meaningful in a Reply
  bool enhanced = false;  ///< S (RFC 6581)
  std::uint8_t revision = 1;
  /// All PD_Length octets, the enhanced word included. After decode: a view into the input.
  bytes::View private_data;
};

//  0                   1                   2                   3
// |A|B|        IRD (14)           |C|D|        ORD (14)           |
struct EnhancedWord {
  bool peer_to_peer = false;  ///< A
  bool rtr_send = false;      ///< B: zero-length Send
  std::uint16_t ird = 0;      ///< 14 bits
  bool rtr_write = false;     ///< C: zero-length RDMA Write
  bool rtr_read = false;      ///< D: zero-length RDMA Read
  std::uint16_t ord = 0;      ///< 14 bits
  constexpr bool operator==(const EnhancedWord&) const = default;
};

EnhancedWord decode_enhanced_word(std::uint32_t word);
std::uint32_t encode(const EnhancedWord& word);

/// What the tag at the end of the ULP's private data (without the word) says.
Extensions extensions_said(FrameKind kind, bytes::View ulp_private_data);
/// A tag stands there.
bool ends_with_extensions_tag(FrameKind kind, bytes::View ulp_private_data);

/// More octets are needed: at least this many in all.
struct NeedOctets {
  std::size_t total = 0;
};

/// What has come in the place of a frame is TLS: for who has to be told.
bool begins_with_tls(bytes::View in);

/// Decodes a frame of the expected kind from the start of `in`; `in` may hold more.
/// Fault kBadStartupFrame: wrong key (told from the first octet that differs), PD_Length above 512.
/// Revision and flag combinations are not judged here. [MPA-66] [MPA-68] [MPA-79] [MPA-100]
bytes::Result<std::variant<StartupFrame, NeedOctets>> decode_startup_frame(FrameKind expected,
                                                                           bytes::View in);

/// Octets on the wire of a frame with that much private data.
constexpr std::size_t startup_frame_size(std::size_t private_data) {
  return kStartupHeaderSize + private_data;
}
/// Appends the frame to `out`. private_data.size() <= 512. [MPA-65] [MPA-67] [MPA-78]
void encode(const StartupFrame& frame, bytes::Writer& out);

/// One line for people; works on truncated and invalid octets too.
std::string describe_startup_frame(bytes::View in);

}  // namespace iwarp::mpa
