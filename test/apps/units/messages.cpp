// SPDX-License-Identifier: Apache-2.0
// Tests the codec of the file protocol: golden octets, every truncation, every bit flip, and wrong
// lengths.
#include "transfer/messages.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "iwarp/bytes/hex.hpp"

namespace {

using namespace iwarp;
using namespace iwarp::apps;

Digest some_digest() {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::byte>(i);
  return digest;
}

const std::vector<Message>& one_of_each() {
  static const std::vector<Message> all{
      GetRequest{"disk.img"}, PutRequest{3221225472, "disk.img"},
      Ready{3221225472},      Window{1048576, {0x7F0000001000, verbs::Stag{0x12345678}, 1048576}},
      Piece{1048576},         Finish{some_digest()},
      Done{some_digest()},    Refusal{"no space left on device"},
  };
  return all;
}

std::vector<std::byte> octets_of(const Message& message) {
  const auto encoded = encode(message);
  return {encoded.view().begin(), encoded.view().end()};
}

std::string hex(const Message& message) { return bytes::to_hex(octets_of(message), 0); }

/// Removes the spaces between the fields of golden octets.
std::string golden(std::string fields) {
  std::erase(fields, ' ');
  return fields;
}

TEST_CASE("every message has its golden octets") {
  CHECK(hex(GetRequest{"disk.img"}) == golden("695746540101000a 0008 6469736b2e696d67"));
  CHECK(hex(PutRequest{3221225472, "d"}) == golden("695746540102000b 00000000c0000000 0001 64"));
  CHECK(hex(Ready{1}) == golden("6957465401030008 0000000000000001"));
  CHECK(hex(Window{2, {3, verbs::Stag{4}, 5}}) ==
        golden("6957465401040018 0000000000000002 0000000000000003 00000004 00000005"));
  CHECK(hex(Piece{6}) == golden("6957465401050008 0000000000000006"));
  CHECK(hex(Finish{}).starts_with(golden("6957465401060020 0000")));
  CHECK(hex(Done{some_digest()}).starts_with(golden("6957465401070020 00010203")));
  CHECK(hex(Refusal{"no"}) == golden("6957465401080004 0002 6e6f"));
}

TEST_CASE("decoding reverses encoding") {
  for (const auto& message : one_of_each()) {
    const auto back = decode_message(octets_of(message)).value();
    CHECK(back == message);
  }
}

TEST_CASE("the longest message is a put with the longest name") {
  const auto encoded = encode(PutRequest{1, std::string(kMaxName, 'x')});
  CHECK(encoded.size == kMaxMessage);
  CHECK(decode_message(encoded.view()).has_value());
}

TEST_CASE("a long reason is truncated when sent") {
  const auto back = decode_message(encode(Refusal{std::string(1000, 'x')}).view()).value();
  CHECK(std::get<Refusal>(back).reason.size() == kMaxReason);
}

TEST_CASE("a message that is truncated, or followed by other octets, is refused") {
  for (const auto& message : one_of_each()) {
    auto octets = octets_of(message);
    for (std::size_t cut = 0; cut < octets.size(); ++cut) {
      CHECK_FALSE(decode_message(std::span(octets).first(cut)).has_value());
    }
    octets.push_back(std::byte{0});
    CHECK_FALSE(decode_message(octets).has_value());
  }
}

TEST_CASE("a body that does not match its type is refused, even if the lengths match") {
  for (const auto& message : one_of_each()) {
    for (unsigned type = 0; type < 256; ++type) {
      auto octets = octets_of(message);
      octets[5] = static_cast<std::byte>(type);
      const auto back = decode_message(octets);
      if (type == 0 || type > std::variant_size_v<Message>) CHECK_FALSE(back.has_value());
      // If a message is accepted, encoding it again must give the same octets.
      if (back) CHECK(octets_of(*back) == octets);
    }
  }
}

TEST_CASE("the error for another version names the version") {
  auto octets = octets_of(Ready{1});
  octets[4] = std::byte{2};
  const auto back = decode_message(octets);
  REQUIRE_FALSE(back.has_value());
  CHECK(std::string(back.error()).find("version") != std::string::npos);
}

TEST_CASE("windows are as long as possible") {
  CHECK(piece_length(0, 1) == 1);
  CHECK(piece_length(0, kMaxPiece) == kMaxPiece);
  CHECK(piece_length(0, kMaxPiece + 1) == kMaxPiece);
  CHECK(piece_length(kMaxPiece, kMaxPiece + 1) == 1);
  CHECK(piece_length(0, ~std::uint64_t{0}) == kMaxPiece);
}

}  // namespace
