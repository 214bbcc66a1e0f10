// SPDX-License-Identifier: Apache-2.0
// The file protocol of serve, get and put: small messages in Sends, file content by RDMA.
//
//   get: client Get, server Ready; then per window: client Window, server RDMA Write + Piece (a
//   Send
//        with Invalidate of the window's STag); at the end server Done with the digest.
//   put: client Put, server Ready; then per window: client Window, server RDMA Read + Piece (the
//        same); at the end client Finish with the digest, server Done once the file is in place.
//   At any time either end may say Refusal instead; then the stream is over.
//
// Windows come in file order, without gaps, each as long as it can be: kMaxPiece or what is left.
// At most kMaxWindows are without their Piece. The codec checks the form; the sessions check the
// order.
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
inline constexpr std::uint32_t kMaxPiece = 1024 * 1024;  ///< octets of one window
inline constexpr std::size_t kMaxWindows = 8;
inline constexpr std::size_t kMaxName = 255;
inline constexpr std::size_t kMaxReason = 200;
inline constexpr std::size_t kMaxMessage = 8 + 8 + 2 + kMaxName;  ///< octets of the longest one

struct GetRequest {
  std::string name;
  bool operator==(const GetRequest&) const = default;
};
struct PutRequest {
  std::uint64_t size = 0;
  std::string name;
  bool operator==(const PutRequest&) const = default;
};
/// get: the file's size. put: the size from the request.
struct Ready {
  std::uint64_t size = 0;
  bool operator==(const Ready&) const = default;
};
/// Memory for, or with, the file's octets from `offset` on.
struct Window {
  std::uint64_t offset = 0;
  Advert memory;
  bool operator==(const Window&) const = default;
};
/// The window at `offset` is done with, and its STag is invalid.
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
  std::string reason;  ///< for people; cut to kMaxReason when sent
  bool operator==(const Refusal&) const = default;
};
using Message = std::variant<GetRequest, PutRequest, Ready, Window, Piece, Finish, Done, Refusal>;

//  0                   1                   2                   3
// |                       magic "iWFT" (32)                       |
// |  version (8)  |   type (8)    |       body length (16)        |
// |  body: the fields in order; texts are a 16-bit length and their octets
struct EncodedMessage {
  std::array<std::byte, kMaxMessage> octets;
  std::size_t size = 0;
  bytes::View view() const { return bytes::View(octets).first(size); }
};
/// Names must be at most kMaxName octets.
EncodedMessage encode(const Message& message);

/// The error is a static text. Nothing that does not fit exactly is taken.
std::expected<Message, const char*> decode_message(bytes::View octets);

/// Octets of the window that begins at `offset` of a file of `size`.
std::uint32_t piece_length(std::uint64_t offset, std::uint64_t size);

}  // namespace iwarp::apps
