// SPDX-License-Identifier: Apache-2.0
// Tests Reader and Writer. Both use big-endian order. After a field that does not fit, each refuses
// every further field.
#include "iwarp/bytes/cursor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "iwarp/bytes/hex.hpp"

namespace {

using namespace iwarp::bytes;

TEST_CASE("a Reader gives big-endian integers in order") {
  const auto octets = *iwarp::bytes::from_hex("01 0203 04050607 08090a0b0c0d0e0f");
  Reader in(octets);
  CHECK(in.u8() == 0x01);
  CHECK(in.u16() == 0x0203);
  CHECK(in.u32() == 0x04050607);
  CHECK(in.u64() == 0x08090a0b0c0d0e0f);
  CHECK(in.ok());
  CHECK(in.position() == octets.size());
  CHECK(in.remaining() == 0);
  CHECK(in.rest().empty());
}

TEST_CASE("a Reader stays failed after the first field that does not fit") {
  const auto octets = *iwarp::bytes::from_hex("010203");
  Reader in(octets);
  CHECK(in.u16() == 0x0102);
  CHECK(in.u16() == 0);
  CHECK_FALSE(in.ok());
  CHECK(in.u8() == 0);  // This field would fit, but the previous one did not.
  CHECK(in.take(1).empty());
  CHECK(in.remaining() == 0);
  CHECK(in.rest().empty());
  CHECK(in.position() == 2);
  in.skip(0);
  CHECK_FALSE(in.ok());
}

TEST_CASE("a Reader rejects sizes near the largest number") {
  const auto octets = *iwarp::bytes::from_hex("01020304");
  Reader in(octets);
  in.skip(2);
  CHECK(in.take(SIZE_MAX).empty());
  CHECK_FALSE(in.ok());
  Reader again(octets);
  again.skip(2);
  again.skip(SIZE_MAX - 1);
  CHECK_FALSE(again.ok());
  CHECK(again.position() == 2);
}

TEST_CASE("a Reader returns views into its input") {
  const auto octets = *iwarp::bytes::from_hex("0102030405");
  Reader in(octets);
  in.skip(1);
  const View taken = in.take(2);
  CHECK(taken.data() == octets.data() + 1);
  CHECK(taken.size() == 2);
  CHECK(in.rest().data() == octets.data() + 3);
  CHECK(in.remaining() == 2);
}

TEST_CASE("a Reader of an empty input is valid until a field is read") {
  Reader in(View{});
  CHECK(in.ok());
  CHECK(in.take(0).empty());
  CHECK(in.ok());
  CHECK(in.u8() == 0);
  CHECK_FALSE(in.ok());
}

TEST_CASE("a Writer puts big-endian integers, octets and zeros in order") {
  std::array<std::byte, 20> room;
  room.fill(std::byte{0xEE});
  const auto tail = *iwarp::bytes::from_hex("aabb");
  Writer out(room);
  out.u8(0x01);
  out.u16(0x0203);
  out.u32(0x04050607);
  out.u64(0x08090a0b0c0d0e0f);
  out.put(tail);
  out.zeros(2);
  CHECK(out.ok());
  CHECK(out.size() == 19);
  CHECK(iwarp::bytes::to_hex(out.written(), 0) == "0102030405060708090a0b0c0d0e0faabb0000");
  CHECK(room[19] == std::byte{0xEE});
}

TEST_CASE("a Writer stays failed and writes nothing outside its buffer") {
  std::array<std::byte, 8> room;
  room.fill(std::byte{0xEE});
  Writer out(iwarp::bytes::Span(room).first(3));
  out.u16(0x0102);
  out.u32(0x03040506);
  CHECK_FALSE(out.ok());
  out.u8(0x07);  // This field would fit, but the previous one did not.
  out.zeros(1);
  out.put(View(room).first(1));
  CHECK(out.size() == 2);
  CHECK(iwarp::bytes::to_hex(View(room), 0) == "0102eeeeeeeeeeee");
}

TEST_CASE("copy_short copies any number of octets, and no others") {
  std::array<std::byte, 48> from;
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t n = 0; n <= from.size(); ++n) {
    CAPTURE(n);
    std::array<std::byte, 50> to{};
    iwarp::bytes::copy_short(to.data() + 1, View(from).first(n));
    CHECK(std::equal(from.begin(), from.begin() + n, to.begin() + 1));
    CHECK(to[0] == std::byte{0});
    CHECK(std::all_of(to.begin() + 1 + n, to.end(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST_CASE("load_be and store_be are inverses, also at compile time") {
  constexpr auto turned = [] {
    std::array<std::byte, 4> octets{};
    iwarp::bytes::store_be<std::uint32_t>(octets.data(), 0xDEADBEEF);
    return iwarp::bytes::load_be<std::uint32_t>(octets.data());
  }();
  static_assert(turned == 0xDEADBEEF);
  CHECK(turned == 0xDEADBEEF);
}

}  // namespace
