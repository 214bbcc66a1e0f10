// SPDX-License-Identifier: Apache-2.0
// The wire format of stream rsockets: the header in the private data of the connect request and of
// the reply, the entries of the tables that each end writes at its peer, and messages of 32 bits.
// The decoders check everything that can be checked without knowing the state of the rsocket. See
// rfc-notes/rsockets.md.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

namespace iwarp::rdma_core::rsockets {

/// Memory into which the peer may write.
struct Target {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;
  bool operator==(const Target&) const = default;
};
inline constexpr std::size_t kTargetSize = 16;

/// Memory that an application has mapped with riomap(), and the offset by which the application of
/// the peer addresses it.
struct Mapping {
  std::uint64_t offset = 0;
  Target target;
  bool operator==(const Mapping&) const = default;
};
inline constexpr std::size_t kMappingSize = 24;

/// The number of entries in the table of targets: one entry for each half of the receive ring.
inline constexpr std::uint32_t kTargets = 2;

/// The header that the client sends in the private data of the connect request, and that the server
/// sends in the private data of the reply.
struct Greeting {
  std::endian order = std::endian::native;  ///< byte order of the sender's tables and messages
  bool maps = true;  ///< whether a table of mappings follows the table of targets
  std::uint16_t credits = 0;
  /// The number of entries in the table of mappings, rounded as scale_of() does.
  std::uint32_t mappings = 0;
  Target table;   ///< the table of targets; its `length` is the number of entries
  Target buffer;  ///< the first target, which is one half of the receive ring
  bool operator==(const Greeting&) const = default;
};
inline constexpr std::size_t kGreetingSize = 40;

enum class MessageType : std::uint8_t { kData = 0, kCredits = 4, kMapping = 6, kControl = 7 };
inline constexpr std::uint32_t kMaxValue = (1U << 29) - 1;
enum class Control : std::uint8_t { kDisconnect = 0, kKeepalive = 1, kShutdown = 2 };

/// The size of a message in octets.
inline constexpr std::uint32_t kMessageSize = 4;

struct Message {
  MessageType kind{};  ///< may have a value that is not an enumerator
  std::uint32_t value = 0;
  bool operator==(const Message&) const = default;
};

constexpr std::uint32_t pack(Message message) {
  return static_cast<std::uint32_t>(message.kind) << 29 | (message.value & kMaxValue);
}
constexpr Message unpack(std::uint32_t word) {
  return {static_cast<MessageType>(word >> 29), word & kMaxValue};
}

std::array<std::byte, kGreetingSize> encode(const Greeting& greeting);
/// Decodes a greeting. Ignores all octets after the header. Fails with ENOTSUP if the version is
/// not supported, and with EPROTO if a value is invalid.
std::expected<Greeting, int> decode_greeting(std::span<const std::byte> octets);

std::array<std::byte, kTargetSize> encode(const Target& target, std::endian order);
Target decode_target(std::span<const std::byte, kTargetSize> octets, std::endian order);
std::array<std::byte, kMappingSize> encode(const Mapping& mapping, std::endian order);
Mapping decode_mapping(std::span<const std::byte, kMappingSize> octets, std::endian order);
std::array<std::byte, 4> encode(std::uint32_t word, std::endian order);
std::uint32_t decode_word(std::span<const std::byte, 4> octets, std::endian order);

}  // namespace iwarp::rdma_core::rsockets
