// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the messages of the file protocol. All integers are big endian.
#include "transfer/messages.hpp"

#include <algorithm>
#include <type_traits>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::apps {

namespace {

using bytes::Reader;
using bytes::Writer;

constexpr std::uint32_t kMagic = 0x69574654;  // "iWFT" in ASCII
constexpr std::size_t kHeaderSize = 8;

void put_text(Writer& out, std::string_view text) {
  out.u16(static_cast<std::uint16_t>(text.size()));
  out.put(std::as_bytes(std::span(text)));
}

std::string take_text(Reader& in) {
  const auto octets = in.take(in.u16());
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

Digest take_digest(Reader& in) {
  Digest digest{};
  const auto octets = in.take(digest.size());
  std::ranges::copy(octets, digest.begin());
  return digest;
}

// Each message type has a write() function, and a read() function that reverses it.
void write(Writer& out, const GetRequest& m) { put_text(out, m.name); }
void write(Writer& out, const PutRequest& m) {
  out.u64(m.size);
  put_text(out, m.name);
}
void write(Writer& out, const Ready& m) { out.u64(m.size); }
void write(Writer& out, const Window& m) {
  out.u64(m.offset);
  out.put(encode(m.memory));
}
void write(Writer& out, const Piece& m) { out.u64(m.offset); }
void write(Writer& out, const Finish& m) { out.put(m.digest); }
void write(Writer& out, const Done& m) { out.put(m.digest); }
void write(Writer& out, const Refusal& m) {
  put_text(out, std::string_view(m.reason).substr(0, kMaxReason));
}

void read(Reader& in, GetRequest& m) { m.name = take_text(in); }
void read(Reader& in, PutRequest& m) {
  m.size = in.u64();
  m.name = take_text(in);
}
void read(Reader& in, Ready& m) { m.size = in.u64(); }
void read(Reader& in, Window& m) {
  m.offset = in.u64();
  m.memory = decode_advert(in.take(kAdvertSize)).value_or(Advert{});
}
void read(Reader& in, Piece& m) { m.offset = in.u64(); }
void read(Reader& in, Finish& m) { m.digest = take_digest(in); }
void read(Reader& in, Done& m) { m.digest = take_digest(in); }
void read(Reader& in, Refusal& m) { m.reason = take_text(in); }

/// Decodes a message. `index` is the position of its type in the variant; the type octet is 1 +
/// `index`.
template <std::size_t I = 0>
std::expected<Message, const char*> read_type(Reader& in, std::size_t index) {
  if constexpr (I < std::variant_size_v<Message>) {
    if (index != I) return read_type<I + 1>(in, index);
    std::variant_alternative_t<I, Message> m;
    read(in, m);
    if (!in.ok()) return std::unexpected("file protocol: the peer sent a truncated message");
    if (in.remaining() != 0)
      return std::unexpected("file protocol: the peer sent a message that is too long");
    return m;
  } else {
    return std::unexpected("file protocol: the peer sent a message of an unknown type");
  }
}

}  // namespace

EncodedMessage encode(const Message& message) {
  EncodedMessage out;
  Writer body(std::span(out.octets).subspan(kHeaderSize));
  std::visit([&](const auto& m) { write(body, m); }, message);
  Writer header(std::span(out.octets).first(kHeaderSize));
  header.u32(kMagic);
  header.u8(kProtocolVersion);
  header.u8(static_cast<std::uint8_t>(message.index() + 1));
  header.u16(static_cast<std::uint16_t>(body.size()));
  out.size = kHeaderSize + body.size();
  return out;
}

std::expected<Message, const char*> decode_message(bytes::View octets) {
  Reader in(octets);
  const auto magic = in.u32();
  const auto version = in.u8();
  const auto type = in.u8();
  const auto length = in.u16();
  if (!in.ok() || magic != kMagic)
    return std::unexpected("the peer does not speak the file protocol");
  if (version != kProtocolVersion) {
    return std::unexpected("the peer speaks a different version of the file protocol");
  }
  if (length != in.remaining())
    return std::unexpected("file protocol: the peer sent a message with a wrong length field");
  if (type == 0)
    return std::unexpected("file protocol: the peer sent a message of an unknown type");
  return read_type(in, type - 1U);
}

std::uint32_t piece_length(std::uint64_t offset, std::uint64_t size) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kMaxPiece, size - offset));
}

}  // namespace iwarp::apps
