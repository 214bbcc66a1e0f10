// SPDX-License-Identifier: Apache-2.0
// Tests the advertisement and the text of ping, which must have the same octets as those of rping.
#include "common/connection/advert.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "iwarp/bytes/hex.hpp"
#include "ping/ping_messages.hpp"

namespace {

using namespace iwarp;

std::string text_of(bytes::View octets) {
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

std::string ping(std::uint32_t number, std::size_t size) {
  std::vector<std::byte> octets(size);
  apps::fill_ping(octets, number);
  return text_of(octets);
}

TEST_CASE("an advertisement is TO, STag and length, big endian") {
  const apps::Advert advert{0x0123456789ABCDEF, verbs::Stag{0xC0FFEE01}, 64};
  CHECK(bytes::to_hex(apps::encode(advert)) == "01234567 89abcdef c0ffee01 00000040");
  CHECK(apps::decode_advert(apps::encode(advert)) == advert);
}

TEST_CASE("only 16 octets are accepted as an advertisement") {
  for (std::size_t size = 0; size < 40; ++size) {
    CHECK(apps::decode_advert(std::vector<std::byte>(size)).has_value() == (size == 16));
  }
}

TEST_CASE("the ping text is rping's, and starts one letter later with each ping") {
  using namespace std::string_literals;
  CHECK(ping(0, 26) == "rdma-ping-0: ABCDEFGHIJKL\0"s);
  CHECK(ping(1, 26) == "rdma-ping-1: BCDEFGHIJKLM\0"s);
  CHECK(ping(57, 26) == "rdma-ping-57: zABCDEFGHIJ\0"s);
  CHECK(ping(58, 26) == "rdma-ping-58: ABCDEFGHIJK\0"s);
}

TEST_CASE("after z the letters begin again, and the last octet is NUL") {
  const auto text = ping(0, 80);
  CHECK(text.substr(13 + 57, 3) == "zAB");
  CHECK(text.back() == '\0');
  CHECK(text.find('\0') == text.size() - 1);
}

TEST_CASE("the largest counter fits into the smallest ping") {
  const auto text = ping(4294967295U, 26);
  CHECK(text.starts_with("rdma-ping-4294967295: "));
  CHECK(text.back() == '\0');
}

}  // namespace
