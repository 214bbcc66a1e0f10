// SPDX-License-Identifier: Apache-2.0
// Codec of Request and Reply frames (RFC 5044 section 7.1.1) and of the enhanced word (RFC 6581
// section 9). The codec checks only the key and the lengths.
#include "iwarp/mpa/startup_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/mpa/faults.hpp"

namespace iwarp::mpa {
namespace {

constexpr std::size_t kKeySize = 16;
constexpr std::string_view kRequestKey = "MPA ID Req Frame";  // [MPA-65]
constexpr std::string_view kReplyKey = "MPA ID Rep Frame";    // [MPA-67]
static_assert(kRequestKey.size() == kKeySize && kReplyKey.size() == kKeySize);

constexpr std::uint8_t kFlagM = 0x80;
constexpr std::uint8_t kFlagC = 0x40;
constexpr std::uint8_t kFlagR = 0x20;
constexpr std::uint8_t kFlagS = 0x10;

constexpr std::uint32_t kWordA = 0x80000000;
constexpr std::uint32_t kWordB = 0x40000000;
constexpr std::uint32_t kWordC = 0x00008000;
constexpr std::uint32_t kWordD = 0x00004000;
constexpr std::uint16_t kWordNumber = 0x3FFF;

constexpr std::string_view key_of(FrameKind kind) {
  return kind == FrameKind::kRequest ? kRequestKey : kReplyKey;
}

/// Returns how many octets at the start of `in` match the key of `kind`.
std::size_t matching_key_octets(FrameKind kind, bytes::View in) {
  const auto key = key_of(kind);
  std::size_t n = 0;
  while (n < kKeySize && n < in.size() && in[n] == static_cast<std::byte>(key[n])) ++n;
  return n;
}

std::string describe_word(bytes::View private_data) {
  const auto word = decode_enhanced_word(bytes::load_be<std::uint32_t>(private_data.data()));
  std::string out = word.peer_to_peer ? ", peer-to-peer" : ", client-server";
  if (word.rtr_send) out += " send";
  if (word.rtr_write) out += " write";
  if (word.rtr_read) out += " read";
  return out + fmt::format(", IRD {}, ORD {}", word.ird, word.ord);
}

std::string_view describe_extensions(Extensions said) {
  constexpr std::array<std::string_view, 4> kTexts{
      "", ", RFC 7306", ", RFC 7306, Send with Immediate",
      ", RFC 7306, Send with Immediate, acknowledged completions"};
  return kTexts[static_cast<std::size_t>(said)];
}

/// Describes those fields after the key that have arrived in `in`.
std::string describe_fields(FrameKind kind, bytes::View in) {
  bytes::Reader reader(in);
  reader.skip(kKeySize);
  const std::uint8_t flags = reader.u8();
  const unsigned revision = reader.u8();
  const std::size_t length = reader.u16();
  if (!reader.ok()) return fmt::format(", truncated to {} of 20 octets", in.size());

  auto out = fmt::format(" rev {}, M={} C={} R={} S={}", revision, (flags & kFlagM) != 0,
                         (flags & kFlagC) != 0, (flags & kFlagR) != 0, (flags & kFlagS) != 0);
  if ((flags & 0x0F) != 0) out += fmt::format(" Res={:#x}", flags & 0x0F);
  out += fmt::format(", PD_Length {}", length);
  if (length > kMaxPrivateData) return out + " (more than 512)";
  const auto private_data = reader.rest().first(std::min(length, reader.remaining()));
  if ((flags & kFlagS) != 0 && private_data.size() >= kEnhancedWordSize) {
    out += describe_word(private_data);
  } else if ((flags & kFlagS) != 0) {
    out += ", IRD and ORD missing";
  }
  const bool has_word = (flags & kFlagS) != 0 && private_data.size() >= kEnhancedWordSize;
  if (private_data.size() == length) {
    out += describe_extensions(
        advertised_extensions(kind, private_data.subspan(has_word ? kEnhancedWordSize : 0)));
  }
  if (length > kPortablePrivateData)
    out += " (some peers accept at most 256 octets of private data)";
  if (private_data.size() < length) {
    out += fmt::format(", truncated to {} of {} octets", in.size(), startup_frame_size(length));
  }
  return out;
}

}  // namespace

Extensions advertised_extensions(FrameKind kind, bytes::View ulp_private_data) {
  if (ulp_private_data.size() < kExtensionsTagSize) return Extensions::kNone;
  const auto end = ulp_private_data.last(kExtensionsTagSize);
  for (const auto said :
       {Extensions::kRfc7306, Extensions::kSendImmediate, Extensions::kAcknowledged}) {
    if (std::ranges::equal(end, std::as_bytes(std::span(extensions_tag(kind, said))))) return said;
  }
  return Extensions::kNone;
}

bool ends_with_extensions_tag(FrameKind kind, bytes::View ulp_private_data) {
  return advertised_extensions(kind, ulp_private_data) != Extensions::kNone;
}

EnhancedWord decode_enhanced_word(std::uint32_t word) {
  return {.peer_to_peer = (word & kWordA) != 0,
          .rtr_send = (word & kWordB) != 0,
          .ird = static_cast<std::uint16_t>((word >> 16) & kWordNumber),
          .rtr_write = (word & kWordC) != 0,
          .rtr_read = (word & kWordD) != 0,
          .ord = static_cast<std::uint16_t>(word & kWordNumber)};
}

// The caller writes the word big-endian, like every other field. IRD and ORD have 14 bits.
// [EMPA-15]
std::uint32_t encode(const EnhancedWord& word) {
  const std::uint32_t ird = word.ird & kWordNumber;
  const std::uint32_t ord = word.ord & kWordNumber;
  return (word.peer_to_peer ? kWordA : 0) | (word.rtr_send ? kWordB : 0) | (ird << 16) |
         (word.rtr_write ? kWordC : 0) | (word.rtr_read ? kWordD : 0) | ord;
}

// Returns whether `in` begins with an alert or the first message of a handshake (RFC 8446 section
// 5.1).
bool begins_with_tls(bytes::View in) {
  constexpr std::byte kAlert{21};
  constexpr std::byte kHandshake{22};
  constexpr std::byte kVersion{3};
  return in.size() >= 2 && (in[0] == kAlert || in[0] == kHandshake) && in[1] == kVersion;
}

bytes::Result<std::variant<StartupFrame, NeedOctets>> decode_startup_frame(FrameKind expected,
                                                                           bytes::View in) {
  // Fails at the first octet of the key that is wrong, so that a peer that speaks another protocol,
  // or has the same role as this end, is detected at once. [MPA-66] [MPA-68] [MPA-94] [MPA-98]
  if (matching_key_octets(expected, in) < std::min(in.size(), kKeySize)) {
    return bytes::fault(kBadStartupFrame);
  }
  bytes::Reader reader(in);
  reader.skip(kKeySize);
  const std::uint8_t flags = reader.u8();
  StartupFrame frame{
      .kind = expected,
      .markers = (flags & kFlagM) != 0,
      .crc = (flags & kFlagC) != 0,
      .rejected = (flags & kFlagR) != 0,
      .enhanced = (flags & kFlagS) != 0,  // the four reserved bits are ignored [MPA-74]
      .revision = reader.u8(),
      .private_data = {}};
  const std::size_t length = reader.u16();
  if (!reader.ok()) return NeedOctets{kStartupHeaderSize};
  if (length > kMaxPrivateData) return bytes::fault(kBadStartupFrame);  // [MPA-79] [MPA-101]
  frame.private_data = reader.take(length);  // no octet beyond PD_Length [MPA-100]
  if (!reader.ok()) return NeedOctets{startup_frame_size(length)};
  return frame;
}

void encode(const StartupFrame& frame, bytes::Writer& out) {
  assert(frame.private_data.size() <= kMaxPrivateData);
  for (const char c : key_of(frame.kind)) out.u8(static_cast<std::uint8_t>(c));
  out.u8(static_cast<std::uint8_t>((frame.markers ? kFlagM : 0) | (frame.crc ? kFlagC : 0) |
                                   (frame.rejected ? kFlagR : 0) | (frame.enhanced ? kFlagS : 0)));
  out.u8(frame.revision);
  out.u16(static_cast<std::uint16_t>(frame.private_data.size()));  // [MPA-78]
  out.put(frame.private_data);
}

std::string describe_startup_frame(bytes::View in) {
  const auto request = matching_key_octets(FrameKind::kRequest, in);
  const auto reply = matching_key_octets(FrameKind::kReply, in);
  const auto present = std::min(in.size(), kKeySize);
  if (std::max(request, reply) < present) {
    return fmt::format("MPA startup frame with a wrong key: {}", bytes::to_hex(in.first(present)));
  }
  // The keys of Request and Reply differ only in the tenth octet.
  const char* name = request == reply ? "startup frame" : request > reply ? "Request" : "Reply";
  const auto kind = reply > request ? FrameKind::kReply : FrameKind::kRequest;
  return fmt::format("MPA {}{}", name, describe_fields(kind, in));
}

}  // namespace iwarp::mpa
