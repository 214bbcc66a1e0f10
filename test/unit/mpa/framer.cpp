// SPDX-License-Identifier: Apache-2.0
// Tests the Framer: the gather list, cookies, and how FPDUs are withdrawn. round_trip.cpp tests all
// lengths, and vectors/worked_frames.cpp compares FPDUs with those of an independent encoder.
#include "iwarp/mpa/framer.hpp"

#include <doctest/doctest.h>

#include <barrier>
#include <set>
#include <thread>

#include "stream.hpp"

namespace iwarp::test {
namespace {

using bytes::Gather;
using namespace mpa;

constexpr std::size_t kAll = 1024;

/// Frames `ulpdu`: copies a header of up to 18 octets, and treats the octets after it as payload
/// according to `mode`.
void frame(Framer& framer, View ulpdu, std::uint64_t cookie = 0,
           PayloadMode mode = PayloadMode::kInPlace) {
  const std::size_t header = std::min<std::size_t>(18, ulpdu.size());
  REQUIRE(framer.room(header, ulpdu.size() - header, mode));
  framer.frame(ulpdu.first(header), Gather{ulpdu.subspan(header)}, mode, cookie);
}

/// Sends the first `size` queued octets and returns them.
Octets send_first(Framer& framer, std::size_t size) {
  Octets sent = join(framer.plan(kAll));
  sent.resize(size);
  framer.sent(size);
  return sent;
}

std::vector<std::uint64_t> cookies(Framer& framer) {
  std::vector<std::uint64_t> all;
  while (const auto cookie = framer.pop_sent()) all.push_back(*cookie);
  return all;
}

}  // namespace

TEST_CASE("each FPDU holds one ULPDU, and a small FPDU is sent as one piece [MPA-3] [MPA-55]") {
  Framer framer({});
  const Octets ulpdu = random_octets(64, 1);
  ReferenceStream reference(false, true);
  for (std::uint64_t i = 0; i < 50; ++i) {
    frame(framer, ulpdu, i);
    reference.fpdu(ulpdu);
  }
  const auto plan = framer.plan(kAll);
  REQUIRE(plan.size() == 1);
  CHECK(std::ranges::equal(plan[0], reference.octets()));
  CHECK(framer.counters().fpdus == 50);
}

TEST_CASE("large payload is not copied and shares no piece with other octets") {
  Framer framer({});
  const Octets ulpdu = random_octets(18 + 4000, 2);
  frame(framer, ulpdu);
  frame(framer, ulpdu);
  const auto plan = framer.plan(kAll);
  REQUIRE(plan.size() == 5);
  CHECK(plan[1].data() == ulpdu.data() + 18);
  CHECK(plan[1].size() == 4000);
  // One piece holds the trailer and the next header.
  CHECK(plan[2].size() == mpa::pad_size(4018) + 4 + 2 + 18);
  CHECK(plan[3].data() == ulpdu.data() + 18);
  CHECK(framer.plan(2).size() == 2);
  CHECK(framer.counters().octets_copied == 0);
}

TEST_CASE("a ring that one thread fills and another empties is used again") {
  constexpr int kTurns = 200;
  Framer framer({});
  std::set<const std::byte*> rings;
  std::barrier turn(2);
  std::jthread sender([&] {
    for (int i = 0; i < kTurns; ++i) {
      turn.arrive_and_wait();
      const auto plan = framer.plan(kAll);
      rings.insert(plan[0].data());
      framer.sent(plan[0].size());
      turn.arrive_and_wait();
    }
  });
  for (int i = 0; i < kTurns; ++i) {
    frame(framer, random_octets(64, 1));
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  sender.join();
  // The sending thread keeps a few rings for itself.
  CHECK(rings.size() < 10);
}

TEST_CASE("payload in several pieces keeps its order, and empty pieces are dropped") {
  for (const std::size_t copy_below : {0U, 4096U}) {
    Framer framer({.markers = true, .copy_below = copy_below});
    const Octets ulpdu = random_octets(18 + 2000, 3);
    const View payload = View(ulpdu).subspan(18);
    framer.frame(View(ulpdu).first(18),
                 Gather{payload.first(700), View{}, payload.subspan(700, 1), payload.subspan(701)},
                 PayloadMode::kInPlace, 0);
    const auto reference = ReferenceStream(true, true).fpdu(ulpdu);
    for (const View piece : framer.plan(kAll)) CHECK(!piece.empty());
    CHECK(send_all(framer) == reference.octets());
  }
}

TEST_CASE("copied payload may change after frame()") {
  Framer framer({.copy_below = 0});
  Octets ulpdu = random_octets(30000, 4);
  const auto reference = ReferenceStream(false, true).fpdu(ulpdu);
  frame(framer, ulpdu, 0, PayloadMode::kCopy);
  std::ranges::fill(ulpdu, std::byte{0});
  CHECK(send_all(framer) == reference.octets());
  CHECK(framer.counters().octets_copied == 30000 - 18);
}

TEST_CASE("a cookie is returned, in order, when the last octet of its FPDU has been sent") {
  Framer framer({});
  const Octets ulpdu(22, std::byte{0x33});  // 28 octets on the wire
  for (const std::uint64_t cookie : {7U, 5U, 9U}) frame(framer, ulpdu, cookie);
  framer.sent(27);
  CHECK(cookies(framer).empty());
  framer.sent(1);
  framer.sent(28);
  CHECK(cookies(framer) == std::vector<std::uint64_t>{7, 5});
  framer.sent(28);
  CHECK(cookies(framer) == std::vector<std::uint64_t>{9});
  CHECK(framer.queued_octets() == 0);
  CHECK(framer.plan(kAll).empty());
}

TEST_CASE("empty queues have room for the largest ULPDU, however small the limits are [MPA-7]") {
  for (const bool markers : {false, true}) {
    Framer framer({.markers = markers, .ring = 1, .max_fpdus = 1, .max_pieces = 1});
    const Octets ulpdu = random_octets(mpa::kMaxMulpdu, 5);
    ReferenceStream reference(markers, true);
    Octets sent;
    for (const PayloadMode mode : {PayloadMode::kCopy, PayloadMode::kInPlace, PayloadMode::kCopy}) {
      frame(framer, ulpdu, 0, mode);
      reference.fpdu(ulpdu);
      CHECK(!framer.room(18, 1, mode));
      append(sent, send_all(framer, 5000));
      // There is no room until the caller has fetched the cookie.
      CHECK(!framer.room(18, 1, mode));
      CHECK(cookies(framer).size() == 1);
    }
    CHECK(sent == reference.octets());
  }
}

TEST_CASE("room() becomes false before the ring, the pieces or the FPDU slots run out") {
  const Octets ulpdu = random_octets(18 + 600, 6);
  for (const FramerOptions& options :
       {FramerOptions{.max_fpdus = 10}, FramerOptions{.max_fpdus = 100000, .copy_below = 5000},
        FramerOptions{.markers = true, .max_fpdus = 100000, .copy_below = 0}}) {
    Framer framer(options);
    ReferenceStream reference(options.markers, true);
    for (int i = 0; framer.room(18, 600, PayloadMode::kInPlace); ++i) {
      REQUIRE(i < 2000);
      frame(framer, ulpdu);
      reference.fpdu(ulpdu);
    }
    CHECK(framer.counters().fpdus >= 10);
    CHECK(send_all(framer, 777) == reference.octets());
  }
}

TEST_CASE("partial sends keep the stream correct while rings and positions wrap [MPA-32]") {
  std::mt19937 random(7);
  const Octets source = random_octets(70000, 8);
  constexpr std::uint64_t kStart = (std::uint64_t{1} << 32) - 100000;
  for (const bool markers : {false, true}) {
    Framer framer({.markers = markers, .ring = 80000, .max_fpdus = 20, .position = kStart});
    ReferenceStream reference(markers, true, kStart);
    Octets sent;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t size = i % 7 == 0 ? random() % 20000 : random() % 700;
      const View payload = View(source).subspan(random() % 1000, size);
      const auto mode = random() % 2 == 0 ? PayloadMode::kCopy : PayloadMode::kInPlace;
      while (!framer.room(16, size, mode)) {
        const Octets queued = join(framer.plan(1 + random() % 6));
        const std::size_t n = queued.empty() ? 0 : 1 + random() % queued.size();
        append(sent, View(queued).first(n));
        framer.sent(n);
        cookies(framer);
      }
      Octets ulpdu(source.begin(), source.begin() + 16);
      append(ulpdu, payload);
      framer.frame(View(ulpdu).first(16), Gather{payload}, mode, 0);
      reference.fpdu(ulpdu);
    }
    append(sent, send_all(framer));
    CHECK(sent == reference.octets());
  }
}

TEST_CASE("detached memory may be freed, and the stream does not change") {
  Octets memory = random_octets(18 + 3000, 9);
  const Octets other = random_octets(18 + 2000, 10);
  for (const bool markers : {false, true}) {
    Octets doomed = memory;
    Framer framer({.markers = markers});
    ReferenceStream reference(markers, true);
    for (const View ulpdu : {View(doomed), View(other), View(doomed)}) {
      frame(framer, ulpdu);
      reference.fpdu(ulpdu);
    }
    Octets sent = send_first(framer, 1000);
    framer.detach(View(doomed).subspan(100, 10));
    const View gone(doomed);
    for (const View piece : framer.plan(kAll)) {
      const bool outside =
          piece.data() + piece.size() <= gone.data() + 100 || piece.data() >= gone.data() + 110;
      CHECK(outside);
    }
    framer.detach(doomed);
    std::ranges::fill(doomed, std::byte{0xEE});
    append(sent, send_all(framer, 512));
    CHECK(sent == reference.octets());
  }
}

TEST_CASE("drop_unsent keeps a partly sent FPDU, and the stream continues after it [VRB-20]") {
  const Octets first = random_octets(18 + 900, 11);
  const Octets dropped = random_octets(18 + 1700, 12);
  const Octets last = random_octets(18 + 1200, 13);
  for (const bool markers : {false, true}) {
    for (const PayloadMode mode : {PayloadMode::kInPlace, PayloadMode::kCopy}) {
      const auto first_size = ReferenceStream(markers, true).fpdu(first).octets().size();
      // Tries three cases: sends nothing, part of the first FPDU, or exactly the first FPDU.
      for (std::size_t out = 0; out <= first_size; out += out < 40 ? 1 : 13) {
        CAPTURE(out);
        Framer framer({.markers = markers});
        frame(framer, first, 1, mode);
        frame(framer, dropped, 2, mode);
        frame(framer, dropped, 3, mode);
        Octets sent = send_first(framer, out);
        framer.drop_unsent();
        ReferenceStream reference(markers, true);
        if (out != 0) reference.fpdu(first);
        REQUIRE(framer.queued_octets() == reference.octets().size() - out);
        frame(framer, last, 4, mode);
        reference.fpdu(last);
        append(sent, send_all(framer));
        REQUIRE(sent == reference.octets());
        const auto expected =
            out != 0 ? std::vector<std::uint64_t>{1, 4} : std::vector<std::uint64_t>{4};
        REQUIRE(cookies(framer) == expected);
      }
    }
  }
}

TEST_CASE("drop_unsent keeps all FPDUs up to the last one with the cookie to keep") {
  const Octets ulpdu = random_octets(18 + 900, 11);
  for (const bool partly_sent : {false, true}) {
    Framer framer({});
    ReferenceStream reference(false, true);
    for (const std::uint64_t cookie : {1U, 9U, 2U, 9U, 3U}) {
      frame(framer, ulpdu, cookie, PayloadMode::kInPlace);
      if (cookie != 3) reference.fpdu(ulpdu);
    }
    Octets sent = send_first(framer, partly_sent ? 1 : 0);
    framer.drop_unsent(9);
    append(sent, send_all(framer));
    CHECK(sent == reference.octets());
    CHECK(cookies(framer) == std::vector<std::uint64_t>{1, 9, 2, 9});
  }
}

TEST_CASE("drop_unsent frees the space in the ring") {
  Framer framer({.ring = 70000});
  const Octets ulpdu = random_octets(60000, 14);
  for (int i = 0; i < 100; ++i) {
    frame(framer, ulpdu, 1, PayloadMode::kCopy);
    framer.drop_unsent();
    CHECK(framer.queued_octets() == 0);
  }
  const auto reference = ReferenceStream(false, true).fpdu(ulpdu);
  frame(framer, ulpdu, 2, PayloadMode::kCopy);
  CHECK(send_all(framer) == reference.octets());
  CHECK(cookies(framer) == std::vector<std::uint64_t>{2});
}

TEST_CASE("the ring octets of a dropped FPDU are reused before those of a partly sent one") {
  const Octets first = random_octets(60000, 16);
  const Octets last = random_octets(62000, 17);
  Framer framer({.ring = 130000});
  ReferenceStream reference(false, true);
  frame(framer, first, 1, PayloadMode::kCopy);
  reference.fpdu(first);
  frame(framer, last, 2, PayloadMode::kCopy);
  framer.sent(1);
  framer.drop_unsent();
  frame(framer, last, 3, PayloadMode::kCopy);
  reference.fpdu(last);
  CHECK(framer.plan(kAll).size() == 1);
  Octets sent{reference.octets().front()};
  append(sent, send_all(framer));
  CHECK(sent == reference.octets());
  CHECK(cookies(framer) == std::vector<std::uint64_t>{1, 3});
}

}  // namespace iwarp::test
