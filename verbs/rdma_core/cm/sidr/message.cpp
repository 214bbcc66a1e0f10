// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes a SidrMessage. A message with a wrong size, magic number, version or CRC is
// not decoded.
#include "cm/sidr/message.hpp"

#include <algorithm>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint32_t kMagic = 0x69574D51;  // "iWMQ"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCovered = kSidrSize - sizeof(std::uint32_t);

}  // namespace

SidrOctets encode(const SidrMessage& message) {
  SidrOctets out{};
  bytes::Writer writer(out);
  const auto length = std::min(message.private_data.size(), kSidrPrivateData);
  writer.u32(kMagic);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(message.kind));
  writer.u8(message.rejected ? 1 : 0);
  writer.u8(static_cast<std::uint8_t>(length));
  writer.u32(message.id);
  writer.u32(message.qp_num);
  writer.u32(message.q_key);
  writer.put(bytes::View(message.private_data).first(length));
  bytes::store_be(out.data() + kCovered, crc32c::compute(bytes::View(out).first(kCovered)));
  return out;
}

std::optional<SidrMessage> decode_sidr(bytes::View octets) {
  if (octets.size() != kSidrSize) return std::nullopt;
  bytes::Reader reader(octets);
  if (reader.u32() != kMagic || reader.u8() != kVersion) return std::nullopt;
  const std::uint8_t kind = reader.u8();
  const std::uint8_t rejected = reader.u8();
  const std::uint8_t length = reader.u8();
  const bool is_known = kind == static_cast<std::uint8_t>(SidrMessage::Kind::kRequest) ||
                        kind == static_cast<std::uint8_t>(SidrMessage::Kind::kReply);
  if (!is_known || rejected > 1 || length > kSidrPrivateData) return std::nullopt;
  SidrMessage out{.kind = static_cast<SidrMessage::Kind>(kind), .rejected = rejected != 0};
  out.id = reader.u32();
  out.qp_num = reader.u32();
  out.q_key = reader.u32();
  const auto data = reader.take(length);
  const auto crc = bytes::load_be<std::uint32_t>(octets.data() + kCovered);
  if (crc != crc32c::compute(octets.first(kCovered))) return std::nullopt;
  out.private_data.assign(data.begin(), data.end());
  return out;
}

}  // namespace iwarp::rdma_core
