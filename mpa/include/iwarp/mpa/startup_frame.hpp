// SPDX-License-Identifier: Apache-2.0
// MPA Request and Reply frames (RFC 5044 section 7.1.1) and the RFC 6581 enhanced connection word.
// The codec checks only the key and the lengths; Startup checks the revision and the flags.
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
/// Every known peer accepts private data of this many octets, the enhanced word included. Kernel
/// siw and cxgb4 refuse longer private data.
inline constexpr std::size_t kPortablePrivateData = 256;
/// The largest size, in octets, of private data with an extensions tag, enhanced word and tag
/// included. If the tag would make the private data larger, the sender omits the tag.
inline constexpr std::size_t kMaxTaggedPrivateData = 248;
/// The value of IRD or ORD that means "no automatic negotiation" (RFC 6581 section 9.1).
inline constexpr std::uint16_t kNoNegotiation = 0x3FFF;

/// The two startup frames: the initiator's Request and the responder's Reply.
enum class FrameKind : std::uint8_t { kRequest, kReply };

/// What an end supports beyond RFC 5040. Each value includes the values before it.
enum class Extensions : std::uint8_t {
  kNone,           ///< no extension
  kRfc7306,        ///< atomics and Immediates of RFC 7306
  kSendImmediate,  ///< Send with Immediate: an Immediate may belong to the next Send
  kAcknowledged,   ///< requests of this end complete when the peer has acknowledged them
};
/// Returns `said` without kAcknowledged. kAcknowledged needs no support by the other end: it says
/// only how the requests of one end complete.
constexpr Extensions spoken(Extensions said) { return std::min(said, Extensions::kSendImmediate); }

/// Returns the tag that an end with the extensions `said` appends to its private data. `said` is
/// not kNone. Only this stack uses such tags, see rfc-notes/decisions/0010-agreeing-on-rfc-7306.md
/// and 0024. The tags of Requests and Replies differ. Otherwise a ULP that only echoes the private
/// data of the Request would appear to agree to the extensions.
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
/// A Request or a Reply.
struct StartupFrame {
  FrameKind kind = FrameKind::kRequest;
  bool markers = false;       ///< M: the frame's sender needs markers in what it receives
  bool crc = true;            ///< C: the sender wants CRCs
  bool rejected = false;      ///< R: the Reply rejects the Request; no meaning in a Request
  bool enhanced = false;      ///< S: the private data begins with the enhanced word (RFC 6581)
  std::uint8_t revision = 1;  ///< Rev: MPA revision
  /// All PD_Length octets, the enhanced word included. In a decoded frame, a view into the input.
  bytes::View private_data{};
};

//  0                   1                   2                   3
// |A|B|        IRD (14)           |C|D|        ORD (14)           |
/// The first 4 octets of the private data of an enhanced frame.
struct EnhancedWord {
  bool peer_to_peer = false;  ///< A: peer-to-peer mode, with an RTR
  bool rtr_send = false;      ///< B: the RTR may be a zero-length Send
  std::uint16_t ird = 0;      ///< IRD, 14 bits
  bool rtr_write = false;     ///< C: the RTR may be a zero-length RDMA Write
  bool rtr_read = false;      ///< D: the RTR may be a zero-length RDMA Read
  std::uint16_t ord = 0;      ///< ORD, 14 bits
  constexpr bool operator==(const EnhancedWord&) const = default;
};

/// Decodes an enhanced word, given in host byte order. Any value is valid.
EnhancedWord decode_enhanced_word(std::uint32_t word);
/// Returns the enhanced word in host byte order. Truncates IRD and ORD to 14 bits.
std::uint32_t encode(const EnhancedWord& word);

/// Returns the extensions that the tag at the end of `ulp_private_data` announces, or kNone if
/// there is no tag. `ulp_private_data` is the private data after the enhanced word.
Extensions advertised_extensions(FrameKind kind, bytes::View ulp_private_data);
/// Returns whether the private data ends with an extensions tag.
bool ends_with_extensions_tag(FrameKind kind, bytes::View ulp_private_data);

/// Result of decoding an incomplete frame: the whole frame has at least `total` octets.
struct NeedOctets {
  std::size_t total = 0;
};

/// Returns whether `in`, which was received where a frame was expected, begins with a TLS handshake
/// or alert. The caller then reports a peer that uses TLS.
bool begins_with_tls(bytes::View in);

/// Decodes a frame of the expected kind from the start of `in`, which may hold more octets. Fails
/// with the fault kBadStartupFrame if an octet of the key is wrong, even if the key is incomplete,
/// or if PD_Length is above 512. Does not check the revision and the flags. [MPA-66] [MPA-68]
/// [MPA-79] [MPA-100]
bytes::Result<std::variant<StartupFrame, NeedOctets>> decode_startup_frame(FrameKind expected,
                                                                           bytes::View in);

/// Returns the size of a frame on the wire, given the octets of its private data.
constexpr std::size_t startup_frame_size(std::size_t private_data) {
  return kStartupHeaderSize + private_data;
}
/// Appends the frame to `out`. Its private data has at most 512 octets. [MPA-65] [MPA-67] [MPA-78]
void encode(const StartupFrame& frame, bytes::Writer& out);

/// Describes a frame on one line; also works if the frame is truncated or invalid.
std::string describe_startup_frame(bytes::View in);

}  // namespace iwarp::mpa
