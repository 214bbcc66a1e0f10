// SPDX-License-Identifier: Apache-2.0
// Tests the rsockets protocol without sockets: the wire format of its header, tables and messages,
// and how Inbound and Outbound handle correct and malicious peers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rsockets/common/options.hpp"
#include "rsockets/streams/inbound.hpp"
#include "rsockets/streams/outbound.hpp"
#include "rsockets/streams/wire.hpp"

namespace {

using namespace iwarp::rdma_core::rsockets;

constexpr Greeting kGreeting{.order = std::endian::little,
                             .maps = true,
                             .credits = 0x0180,
                             .mappings = 3,
                             .table = {0x1122334455667788, 0x99aabbcc, 2},
                             .buffer = {0x0102030405060708, 0x0a0b0c0d, 0x10000}};

std::vector<std::byte> octets(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST_CASE("the header in the private data is checked octet by octet") {
  const auto expected = octets({1,    2,    0x01, 0x80, 0,    0,    0,    3,     //
                                0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,  //
                                0x99, 0xaa, 0xbb, 0xcc, 0,    0,    0,    2,     //
                                0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,  //
                                0x0a, 0x0b, 0x0c, 0x0d, 0,    1,    0,    0});
  CHECK(std::ranges::equal(encode(kGreeting), expected));
  CHECK(decode_greeting(expected) == kGreeting);
  auto longer = expected;
  longer.resize(56);
  CHECK(decode_greeting(longer) == kGreeting);
}

TEST_CASE("an inconsistent header is refused") {
  const auto refused = [](auto change) {
    Greeting greeting = kGreeting;
    change(greeting);
    const auto out = decode_greeting(encode(greeting));
    return out ? 0 : out.error();
  };
  CHECK(refused([](Greeting&) {}) == 0);
  CHECK(refused([](Greeting& g) { g.credits = 1; }) == 0);
  CHECK(refused([](Greeting& g) { g.credits = 0; }) == EPROTO);
  CHECK(refused([](Greeting& g) { g.table.length = 1; }) == EPROTO);
  CHECK(refused([](Greeting& g) { g.buffer.length = 0; }) == EPROTO);
  CHECK(refused([](Greeting& g) { g.table.address = UINT64_MAX - (2 * 16 + 3 * 24); }) == 0);
  CHECK(refused([](Greeting& g) { g.table.address = UINT64_MAX - (2 * 16 + 3 * 24) + 1; }) ==
        EPROTO);
  auto other = encode(kGreeting);
  other[0] = std::byte{2};
  CHECK(decode_greeting(other).error() == ENOTSUP);
  const auto whole = encode(kGreeting);
  CHECK(decode_greeting(std::span(whole).first(39)).error() == EPROTO);
  CHECK(decode_greeting({}).error() == EPROTO);
}

TEST_CASE("the number of mappings fits in one octet") {
  for (const std::uint32_t exact : {0U, 1U, 127U, 128U, 256U, 512U, 127U * 256}) {
    CHECK(rounded_mappings(exact) == exact);
  }
  CHECK(rounded_mappings(300) == 256);
  CHECK(rounded_mappings(65535) == 127 * 256);
}

TEST_CASE("tables and messages are in the byte order of their reader") {
  const Target target{0x1122334455667788, 0x99aabbcc, 0xddeeff00};
  const auto big = octets({0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
                           0xdd, 0xee, 0xff, 0x00});
  CHECK(std::ranges::equal(encode(target, std::endian::big), big));
  const auto little = octets({0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xcc, 0xbb, 0xaa,
                              0x99, 0x00, 0xff, 0xee, 0xdd});
  CHECK(std::ranges::equal(encode(target, std::endian::little), little));
  const Mapping mapping{0x0102030405060708, target};
  for (const auto order : {std::endian::big, std::endian::little}) {
    CHECK(decode_target(encode(target, order), order) == target);
    CHECK(decode_mapping(encode(mapping, order), order) == mapping);
    CHECK(decode_word(encode(0xe0000001, order), order) == 0xe0000001);
  }
  CHECK(pack({MessageType::kControl, 2}) == 0xe0000002);
  CHECK(pack({MessageType::kCredits, 0x180}) == 0x80000180);
  CHECK(unpack(0x00010000) == Message{MessageType::kData, 0x10000});
}

constexpr Outbound::Options kSome{
    .ring = 8192, .requests = 8, .per_message = 2, .credits = 3, .first = {1000, 7, 5000}};

TEST_CASE("sent data wraps around the ring, and fills one target after the other") {
  Outbound out(kSome);
  const auto first = out.take(4096).value();
  CHECK(first.at == 0);
  CHECK(first.length == 4096);
  CHECK(first.address == 1000);
  CHECK(first.key == 7);
  REQUIRE(out.add({90000, 8, 4096}));
  const auto second = out.take(4096).value();  // this range ends where the first target ends
  CHECK(second.at == 4096);
  CHECK(second.length == 5000 - 4096);
  CHECK(second.address == 1000 + 4096);
  out.completed(4096);
  out.completed(0);
  const auto third = out.take(4096).value();  // this range ends where the ring ends
  CHECK(third.address == 90000);
  CHECK(third.at == 5000);
  CHECK(third.length == 8192 - 5000);
  CHECK_FALSE(out.take(1));  // There is no credit.
}

TEST_CASE("requests, the ring, credits and targets each limit what is sent") {
  SUBCASE("requests") {
    Outbound out(
        {.ring = 65536, .requests = 3, .per_message = 2, .credits = 9, .first = {0, 0, 99}});
    REQUIRE(out.take(10));
    CHECK_FALSE(out.take(10));
    CHECK_FALSE(out.take_message());
    CHECK(out.take_direct(10, 0, 0));
    CHECK_FALSE(out.idle());
    for (const std::uint32_t length : {10U, 0U, 10U}) out.completed(length);
    CHECK(out.idle());
  }
  SUBCASE("the ring") {
    Outbound out(kSome);
    REQUIRE(out.take_direct(8192 - 2047, 0, 0));
    CHECK_FALSE(out.ready());
    CHECK_FALSE(out.take_direct(1, 0, 0));
    out.completed(8192 - 2047);
    CHECK(out.ready());
  }
  SUBCASE("targets") {
    Outbound out({.ring = 8192, .requests = 8, .per_message = 1, .credits = 9, .first = {0, 0, 5}});
    CHECK(out.take(10)->length == 5);
    CHECK_FALSE(out.ready());
    CHECK(out.add({0, 0, 10}));
    CHECK(out.add({0, 0, 10}));
    CHECK_FALSE(out.add({0, 0, 10}));
  }
  SUBCASE("a target is no longer than a message can describe") {
    Outbound out(kSome);
    CHECK(out.add({0, 0, kMaxValue}));
    CHECK_FALSE(out.add({0, 0, kMaxValue + 1}));
  }
}

TEST_CASE("credits only grow, and not beyond the number of the peer's receives") {
  Outbound out(kSome);
  REQUIRE(out.take(1));
  CHECK(out.allow(3));
  CHECK(out.allow(4));
  CHECK_FALSE(out.allow(3));
  CHECK_FALSE(out.allow(5));
  CHECK_FALSE(out.allow(0xffff));
}

TEST_CASE("credits are counted modulo 65536") {
  Outbound out(
      {.ring = 4096, .requests = 1, .per_message = 1, .credits = 2, .first = {0, 0, 1U << 28}});
  for (std::uint32_t i = 1; i < 70000; ++i) {
    REQUIRE(out.take(1));
    out.completed(1);
    REQUIRE(out.allow(static_cast<std::uint16_t>(i + 2)));
  }
}

TEST_CASE("read data is acknowledged: by halves of the ring, and by credits") {
  Inbound in(8192, 4);
  CHECK(in.grant_due());
  const auto second_half = in.grant();
  CHECK(second_half.half == 4096);
  CHECK(second_half.limit == 4);
  CHECK_FALSE(in.grant_due());
  REQUIRE(in.arrived(4000));
  REQUIRE(in.arrived(96));
  REQUIRE(in.arrived(100));
  CHECK(in.readable() == 4196);
  in.consume(4095);
  CHECK_FALSE(in.grant_due());
  in.consume(1);
  CHECK(in.grant_due());
  const auto first_half = in.grant();
  CHECK(first_half.half == 0);
  CHECK(first_half.limit == 6);
  in.consume(100);
  CHECK(in.readable() == 0);
  CHECK_FALSE(in.grant_due());
}

TEST_CASE("credits are returned before half of the ring is free") {
  Inbound in(1 << 20, 4);
  (void)in.grant();
  for (int i = 0; i < 2; ++i) REQUIRE(in.arrived(1));
  in.consume(1);
  CHECK_FALSE(in.grant_due());
  in.consume(1);
  REQUIRE(in.grant_due());
  const auto grant = in.grant();
  CHECK_FALSE(grant.half);
  CHECK(grant.limit == 6);
}

TEST_CASE("reading wraps around the ring") {
  Inbound in(8192, 8);
  (void)in.grant();
  REQUIRE(in.arrived(4096));
  REQUIRE(in.arrived(4096));
  in.consume(8000);
  (void)in.grant();
  REQUIRE(in.arrived(500));
  CHECK(in.next(1000).at == 8000);
  CHECK(in.next(1000).length == 192);
  CHECK(in.next(1000, 192).at == 0);
  CHECK(in.next(1000, 192).length == 500);
  CHECK(in.next(10, 190).length == 2);
}

TEST_CASE("a peer that claims more space than it was granted is detected") {
  struct Row {
    const char* what;
    bool granted;  ///< whether the second half of the ring was granted
    std::vector<std::uint32_t> accepted;
    std::uint32_t refused;
  };
  for (const Row& row : {Row{"data where none was granted", false, {}, 0},
                         Row{"more data than the granted half", true, {4096}, 4097},
                         Row{"data across the border of two halves", true, {4000}, 97},
                         Row{"data in a half that was not granted", false, {4096}, 1},
                         Row{"more messages than credits", false, {1, 1, 1, 1}, 1}}) {
    CAPTURE(row.what);
    Inbound in(8192, 4);
    if (row.granted) (void)in.grant();
    for (const auto length : row.accepted) CHECK(in.arrived(length));
    CHECK_FALSE(in.arrived(row.refused));
    if (row.accepted.size() == 4) CHECK_FALSE(in.counted());
  }
}

TEST_CASE("a message about a mapping holds a credit until all data before it has been read") {
  Inbound in(8192, 4);
  (void)in.grant();
  REQUIRE(in.counted());
  REQUIRE(in.arrived(10));
  REQUIRE(in.counted());
  REQUIRE(in.arrived(10));
  CHECK_FALSE(in.counted());
  in.consume(10);
  REQUIRE(in.grant_due());
  CHECK(in.grant().limit == 3 + 4);
  in.consume(10);
  CHECK(in.readable() == 0);
}

}  // namespace
