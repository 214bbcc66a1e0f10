// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes greetings, tables and messages. The greeting says in which byte order its
// sender writes tables and messages.
#include "rsockets/streams/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "iwarp/bytes/cursor.hpp"
#include "rsockets/common/options.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kBigEndian = 1;
constexpr std::uint8_t kMaps = 2;

template <typename T>
void store(std::byte* to, T value, std::endian order) {
  if (order != std::endian::native) value = std::byteswap(value);
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T load(const std::byte* from, std::endian order) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return order == std::endian::native ? value : std::byteswap(value);
}

void put(bytes::Writer& out, const Target& target) {
  out.u64(target.address);
  out.u32(target.key);
  out.u32(target.length);
}

Target take_target(bytes::Reader& in) {
  Target out;
  out.address = in.u64();
  out.key = in.u32();
  out.length = in.u32();
  return out;
}

/// Returns whether the addresses of both tables of the peer fit into 64 bits.
bool tables_fit(const Greeting& greeting) {
  const std::uint64_t size = std::uint64_t{greeting.table.length} * kTargetSize +
                             std::uint64_t{greeting.mappings} * kMappingSize;
  return greeting.table.address <= UINT64_MAX - size;
}

}  // namespace

std::array<std::byte, kGreetingSize> encode(const Greeting& greeting) {
  std::array<std::byte, kGreetingSize> out;
  bytes::Writer writer(out);
  const bool big = greeting.order == std::endian::big;
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>((big ? kBigEndian : 0) | (greeting.maps ? kMaps : 0)));
  writer.u16(greeting.credits);
  writer.zeros(3);
  writer.u8(scale_of(greeting.mappings));
  put(writer, greeting.table);
  put(writer, greeting.buffer);
  return out;
}

std::expected<Greeting, int> decode_greeting(std::span<const std::byte> octets) {
  bytes::Reader in(octets);
  Greeting out;
  const auto version = in.u8();
  const auto flags = in.u8();
  out.order = (flags & kBigEndian) != 0 ? std::endian::big : std::endian::little;
  out.maps = (flags & kMaps) != 0;
  out.credits = in.u16();
  in.skip(3);
  const auto scale = in.u8();
  out.mappings = out.maps ? mappings_of(scale) : 0;
  out.table = take_target(in);
  out.buffer = take_target(in);
  if (!in.ok()) return std::unexpected(EPROTO);
  if (version != kVersion) return std::unexpected(ENOTSUP);
  const bool sensible =
      out.credits != 0 && out.table.length >= kTargets && out.buffer.length != 0 && tables_fit(out);
  if (!sensible) return std::unexpected(EPROTO);
  return out;
}

std::array<std::byte, kTargetSize> encode(const Target& target, std::endian order) {
  std::array<std::byte, kTargetSize> out;
  store(out.data(), target.address, order);
  store(out.data() + 8, target.key, order);
  store(out.data() + 12, target.length, order);
  return out;
}

Target decode_target(std::span<const std::byte, kTargetSize> octets, std::endian order) {
  return {load<std::uint64_t>(octets.data(), order), load<std::uint32_t>(octets.data() + 8, order),
          load<std::uint32_t>(octets.data() + 12, order)};
}

std::array<std::byte, kMappingSize> encode(const Mapping& mapping, std::endian order) {
  std::array<std::byte, kMappingSize> out;
  store(out.data(), mapping.offset, order);
  std::ranges::copy(encode(mapping.target, order), out.begin() + 8);
  return out;
}

Mapping decode_mapping(std::span<const std::byte, kMappingSize> octets, std::endian order) {
  return {load<std::uint64_t>(octets.data(), order),
          decode_target(octets.subspan<8, kTargetSize>(), order)};
}

std::array<std::byte, 4> encode(std::uint32_t word, std::endian order) {
  std::array<std::byte, 4> out;
  store(out.data(), word, order);
  return out;
}

std::uint32_t decode_word(std::span<const std::byte, 4> octets, std::endian order) {
  return load<std::uint32_t>(octets.data(), order);
}

}  // namespace iwarp::rdma_core::rsockets
