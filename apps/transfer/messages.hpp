// SPDX-License-Identifier: Apache-2.0
// The file protocol of serve, get and put: small messages in Sends, file content by RDMA.
//
//   get: The client sends Get, and the server sends Ready. For each window, the client sends a
//        Window; the server RDMA Writes the data and sends a Piece, which is a Send with Invalidate
//        of the window's STag. At the end the server sends Done with the digest.
//   put: The client sends Put, and the server sends Ready. For each window, the client sends a
//        Window; the server RDMA Reads the data and sends a Piece, as for get. At the end the
//        client sends Finish with the digest, and the server sends Done once the file is in place.
//   At any time, either end may send a Refusal instead of its next message. This ends the stream.
//
// Windows are advertised in file order and without gaps. Each window is kMaxPiece bytes long,
// except the last one, which ends with the file. At most kMaxWindows windows may be outstanding:
// advertised, but not yet answered by a Piece. The codec checks the form of messages; the code of
// client and server checks their order.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <variant>

#include "common/base/digest.hpp"
#include "common/connection/advert.hpp"
#include "iwarp/bytes/view.hpp"

namespace iwarp::apps {

inline constexpr std::uint8_t kProtocolVersion = 1;
inline constexpr std::uint32_t kMaxPiece = 1024 * 1024;  ///< maximum size of a window in bytes
inline constexpr std::size_t kMaxWindows = 8;
inline constexpr std::size_t kMaxName = 255;
inline constexpr std::size_t kMaxReason = 200;
/// Maximum size of a message in octets.
inline constexpr std::size_t kMaxMessage = 8 + 8 + 2 + kMaxName;

struct GetRequest {
  std::string name;
  bool operator==(const GetRequest&) const = default;
};
struct PutRequest {
  std::uint64_t size = 0;
  std::string name;
  bool operator==(const PutRequest&) const = default;
};
/// Accepts a request. For get, `size` is the size of the file. For put, `size` repeats the size in
/// the request.
struct Ready {
  std::uint64_t size = 0;
  bool operator==(const Ready&) const = default;
};
/// Advertises memory for the part of the file that begins at `offset`. For get, the server writes
/// into this memory; for put, the server reads from it.
struct Window {
  std::uint64_t offset = 0;
  Advert memory;
  bool operator==(const Window&) const = default;
};
/// Reports that the window at `offset` is complete. This message is a Send with Invalidate, which
/// invalidates the window's STag.
struct Piece {
  std::uint64_t offset = 0;
  bool operator==(const Piece&) const = default;
};
struct Finish {
  Digest digest{};
  bool operator==(const Finish&) const = default;
};
struct Done {
  Digest digest{};
  bool operator==(const Done&) const = default;
};
struct Refusal {
  std::string reason;  ///< text for the user; encode() truncates it to kMaxReason octets
  bool operator==(const Refusal&) const = default;
};
using Message = std::variant<GetRequest, PutRequest, Ready, Window, Piece, Finish, Done, Refusal>;

//  0                   1                   2                   3
// |                       magic "iWFT" (32)                       |
// |  version (8)  |   type (8)    |       body length (16)        |
// |  body: the fields in order; a text is a 16-bit length and its octets
struct EncodedMessage {
  std::array<std::byte, kMaxMessage> octets;
  std::size_t size = 0;
  bytes::View view() const { return bytes::View(octets).first(size); }
};
/// Encodes a message. Names must have at most kMaxName octets.
EncodedMessage encode(const Message& message);

/// Decodes a message. Returns a static error text if it is invalid. Octets after the end of the
/// message are also an error.
std::expected<Message, const char*> decode_message(bytes::View octets);

/// Returns the length of the window at `offset` in a file of `size` bytes.
std::uint32_t piece_length(std::uint64_t offset, std::uint64_t size);

}  // namespace iwarp::apps
