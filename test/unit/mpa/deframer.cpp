// SPDX-License-Identifier: Apache-2.0
// Tests the Deframer with its staging area: what it must ignore, what it must refuse, and how
// receive plans end. The tests of direct placement are in placement.cpp and mixture.cpp.
#include "iwarp/mpa/deframer.hpp"

#include <doctest/doctest.h>

#include "stream.hpp"

namespace iwarp::test {
namespace {

using namespace mpa;

constexpr std::size_t kWhole = static_cast<std::size_t>(-1);

Received receive(const mpa::DeframerOptions& options, View stream, std::size_t cut = kWhole) {
  Deframer deframer(options);
  return receive_all(deframer, stream, [cut] { return cut; });
}

std::size_t plan_size(Deframer& deframer, bool read_ahead = true) {
  return bytes::total_size(deframer.plan(read_ahead));
}

}  // namespace

TEST_CASE("with CRC on, no flipped bit yields another ULPDU [MPA-35] [MPA-46] [MPA-59] [DDP-6]") {
  for (const bool markers : {false, true}) {
    ReferenceStream stream(markers, true);
    std::vector<Octets> sent;
    for (const std::size_t size : {0U, 5U, 60U, 450U, 18U}) {
      sent.push_back(random_octets(size, static_cast<std::uint32_t>(size)));
      stream.fpdu(sent.back());
    }
    for (std::size_t bit = 0; bit < stream.octets().size() * 8; ++bit) {
      CAPTURE(bit);
      Octets bad = stream.octets();
      bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      const Received received = receive({.markers = markers}, bad, 700);
      REQUIRE(received.ulpdus.size() < sent.size());
      for (std::size_t i = 0; i < received.ulpdus.size(); ++i) {
        REQUIRE(received.ulpdus[i] == sent[i]);
      }
      // A fault is not required. A damaged length may extend past the end of the stream, and the
      // deframer then still waits for data. [MPA-61]
      if (received.fault) REQUIRE(*received.fault == mpa::kCrcMismatch);
    }
  }
}

TEST_CASE("if CRC and marker are both wrong, the CRC error is reported [MPA-46]") {
  const auto stream = ReferenceStream(true, true).fpdu(Octets(600), {.wrong_ptr = 8});
  Octets octets = stream.octets();
  octets[20] ^= std::byte{1};
  const Received received = receive({.markers = true}, octets);
  REQUIRE(received.fault);
  CHECK(*received.fault == mpa::kCrcMismatch);
}

TEST_CASE("every value of the length field is handled, also above the RFC's limit") {
  const Octets source = random_octets(65535, 6);
  for (const bool markers : {false, true}) {
    for (const std::size_t size : {64768U, 64769U, 65532U, 65533U, 65534U, 65535U}) {
      CAPTURE(size);
      for (const std::uint64_t position : {0U, 4U, 508U, 512U, 300U}) {
        ReferenceStream stream(markers, true, position);
        stream.fpdu(View(source).first(size));
        stream.fpdu(View(source).first(40));
        const Received received =
            receive({.markers = markers, .stage = 1, .position = position}, stream.octets(), 50000);
        REQUIRE(!received.fault);
        REQUIRE(received.ulpdus.size() == 2);
        REQUIRE(std::ranges::equal(received.ulpdus[0], View(source).first(size)));
      }
    }
  }
}

TEST_CASE("kPartial is returned once, when the requested prefix is complete and contiguous") {
  const Octets ulpdu = random_octets(900, 8);
  for (const bool markers : {false, true}) {
    for (const std::uint64_t position : {0U, 4U, 492U, 496U, 500U, 504U, 508U}) {
      for (const std::size_t want : {0U, 1U, 18U, 128U}) {
        INFO("markers ", markers, ", position ", position, ", wanted ", want);
        const auto stream = ReferenceStream(markers, true, position).fpdu(ulpdu);
        Deframer deframer({.markers = markers, .position = position});
        View rest(stream.octets());
        std::size_t partials = 0;
        Step step = Step::kNeedMore;
        while (!rest.empty()) {
          rest = rest.subspan(fill(deframer, rest, 1));
          step = *deframer.next(want);
          if (step == Step::kPartial) {
            ++partials;
            REQUIRE(deframer.ulpdu_length() == ulpdu.size());
            REQUIRE(std::ranges::equal(deframer.prefix(), View(ulpdu).first(want)));
            // kPartial is returned as soon as `want` octets of the ULPDU are staged.
            CHECK(deframer.counters().octets < want + 2 + 2 * 4 + 1);
          }
        }
        CHECK(partials == 1);
        REQUIRE(step == Step::kUlpdu);
        // Until consume() is called, next() returns the same step.
        CHECK(*deframer.next(want) == Step::kUlpdu);
        CHECK(std::ranges::equal(deframer.prefix(), View(ulpdu).first(want)));
        deframer.consume();
        CHECK(deframer.at_boundary());
      }
    }
  }
}

TEST_CASE("a ULPDU shorter than the requested prefix is returned complete") {
  const auto stream = ReferenceStream(false, true).fpdu(Octets(3, std::byte{9}));
  Deframer deframer({});
  fill(deframer, stream.octets(), 7);
  CHECK(*deframer.next(18) == Step::kPartial);
  CHECK(deframer.prefix().size() == 3);
  fill(deframer, View(stream.octets()).subspan(7), kWhole);
  CHECK(*deframer.next(18) == Step::kUlpdu);
  CHECK(deframer.prefix().size() == 3);
}

TEST_CASE("after an FPDU, the deframer knows whether an octet of the next one has arrived") {
  ReferenceStream stream(false, true);
  stream.fpdu(Octets(40));
  stream.fpdu(Octets(40));
  const View octets(stream.octets());
  const std::size_t first = octets.size() / 2;
  for (const std::size_t behind : {0UZ, 1UZ, first}) {
    Deframer deframer({});
    fill(deframer, octets.first(first + behind), kWhole);
    REQUIRE(*deframer.next(18) == Step::kUlpdu);
    CHECK(deframer.consume() == (behind != 0));
    CHECK(*deframer.next(18) == (behind == first ? Step::kUlpdu : Step::kNeedMore));
  }
}

TEST_CASE("a deframer that is destroyed in an FPDU leaves its staging area to the next one") {
  const auto stream = ReferenceStream(false, true).fpdu(Octets(100));
  constexpr std::size_t kStage = 128 * 1024;
  const auto use = [&] {
    Deframer deframer({.stage = kStage});
    const auto* const stage = deframer.plan(true).front().data();
    fill(deframer, View(stream.octets()).first(50), kWhole);
    return stage;
  };
  const auto* const stage = use();
  const Octets takes_what_was_freed(kStage);
  CHECK(use() == stage);
}

TEST_CASE("without read-ahead a plan ends with the length field, then with the FPDU") {
  const auto stream = ReferenceStream(true, true).fpdu(Octets(100));
  Deframer deframer({.markers = true});
  CHECK(plan_size(deframer, false) == 4 + 2);
  const View octets(stream.octets());
  fill(deframer, octets, 5, false);
  CHECK(plan_size(deframer, false) == 1);
  fill(deframer, octets.subspan(5), 1, false);
  CHECK(plan_size(deframer, false) == octets.size() - 6);
  fill(deframer, octets.subspan(6), kWhole, false);
  CHECK(plan_size(deframer, false) == 0);
  CHECK(*deframer.next(18) == Step::kUlpdu);
  CHECK(plan_size(deframer) > 0);
  deframer.consume();
  CHECK(plan_size(deframer, false) == 2);
}

TEST_CASE("in a large FPDU the plan ends with it, then where the next is expected to end") {
  const auto stream = ReferenceStream(false, true).fpdu(random_octets(40000, 9));
  const std::size_t size = stream.octets().size();
  Deframer deframer({.stage = 100000});
  fill(deframer, stream.octets(), 1000);
  CHECK(plan_size(deframer) == size - 1000);
  fill(deframer, View(stream.octets()).subspan(1000), kWhole);
  Received received;
  drain(deframer, received);
  REQUIRE(received.ulpdus.size() == 1);
  CHECK(plan_size(deframer) == 2 * size);
  CHECK(deframer.counters().octets_copied == 0);
}

TEST_CASE("large FPDUs of equal size pass the staging area without being moved") {
  ReferenceStream stream(false, true);
  const Octets ulpdu = random_octets(60000, 10);
  for (int i = 0; i < 20; ++i) stream.fpdu(ulpdu);
  std::mt19937 random(11);
  Deframer deframer({});
  const Received received =
      receive_all(deframer, stream.octets(), [&] { return 1 + random() % 150000; });
  CHECK(received.ulpdus.size() == 20);
  // Only the first read is planned before the length of the FPDUs is known, so only the octets of
  // that read have to be copied.
  CHECK(deframer.counters().octets_copied <= 60008);
}

TEST_CASE("staged FPDUs wait until they are consumed and the receive plan is empty") {
  ReferenceStream stream(false, true);
  const Octets ulpdu = random_octets(1000, 12);
  for (int i = 0; i < 300; ++i) stream.fpdu(ulpdu);
  Deframer deframer({.stage = 100000});
  const std::size_t taken = deframer.feed(stream.octets());
  CHECK(taken == 100000);
  REQUIRE(*deframer.next(18) == Step::kUlpdu);
  CHECK(deframer.plan().empty());
  CHECK(join(deframer.ulpdu()) == ulpdu);
  Received received;
  drain(deframer, received);
  CHECK(received.ulpdus.size() == 100000 / mpa::fpdu_size(1000));
  View rest = View(stream.octets()).subspan(taken);
  while (!rest.empty()) {
    rest = rest.subspan(deframer.feed(rest));
    drain(deframer, received);
  }
  CHECK(received.ulpdus == std::vector<Octets>(300, ulpdu));
  CHECK(deframer.at_boundary());
}

TEST_CASE("ULPDU views remain valid while more octets are read after them") {
  ReferenceStream stream(true, true);
  const Octets ulpdu = random_octets(2000, 13);
  for (int i = 0; i < 60; ++i) stream.fpdu(ulpdu);
  Deframer deframer({.markers = true, .stage = 70000});
  View rest(stream.octets());
  rest = rest.subspan(fill(deframer, rest, 5000));
  REQUIRE(*deframer.next(18) == Step::kUlpdu);
  const View first = deframer.ulpdu()[0];
  while (!deframer.plan().empty()) rest = rest.subspan(fill(deframer, rest, 3001));
  CHECK(first.data() == deframer.ulpdu()[0].data());
  CHECK(join(deframer.ulpdu()) == ulpdu);
}

TEST_CASE("FPDUs that overtake the current one are consumed, the others keep their order") {
  // The first octet says whether the FPDU overtakes.
  const auto ulpdu = [](bool overtakes, std::uint32_t i) {
    Octets out = random_octets(20 + i * 37 % 900, i);
    out[0] = std::byte{overtakes};
    return out;
  };
  for (const std::size_t cut : {kWhole, std::size_t{7}, std::size_t{1000}}) {
    ReferenceStream stream(false, true);
    std::vector<Octets> in_order;
    std::vector<Octets> overtaking;
    for (std::uint32_t i = 0; i < 400; ++i) {
      auto& list = i % 3 == 1 ? overtaking : in_order;
      list.push_back(ulpdu(i % 3 == 1, i));
      stream.fpdu(list.back());
    }
    Deframer deframer({.stage = 100000});
    Received received;
    Received overtook;
    const auto take = [&] {
      CHECK(deframer.prefix().size() == std::min<std::size_t>(18, deframer.ulpdu_length()));
      if (deframer.prefix()[0] == std::byte{0}) return false;
      overtook.ulpdus.push_back(join(deframer.ulpdu()));
      return true;
    };
    View rest(stream.octets());
    while (received.ulpdus.size() != in_order.size()) {
      while (!rest.empty() && deframer.has_room()) {
        rest = rest.subspan(fill(deframer, rest, cut));
        // FPDUs overtake only one that next() has returned.
        if (const auto step = deframer.next(18); step && *step == Step::kUlpdu) {
          deframer.overtake(take);
        }
      }
      // Consumes half of the staged FPDUs, so that plan() has to move the others.
      for (int i = 0; i < 100 && received.ulpdus.size() != in_order.size(); ++i) {
        const auto step = deframer.next(18);
        REQUIRE(step);
        if (*step == Step::kPartial) continue;
        if (*step == Step::kNeedMore) break;
        received.ulpdus.push_back(join(deframer.ulpdu()));
        deframer.overtake(take);
        deframer.consume();
      }
    }
    CHECK(received.ulpdus == in_order);
    CHECK(overtook.ulpdus == overtaking);
    CHECK(deframer.counters().fpdus == 400);
    CHECK(deframer.at_boundary());
  }
}

TEST_CASE("a faulty FPDU overtakes nothing, and nor does an FPDU with markers [MPA-46]") {
  for (const bool markers : {false, true}) {
    ReferenceStream stream(markers, true);
    for (int i = 0; i < 4; ++i) stream.fpdu(Octets(20));
    Octets octets = stream.octets();
    octets[octets.size() / 2 + 8] ^= std::byte{1};  // damages the third FPDU
    Deframer deframer({.markers = markers});
    REQUIRE(deframer.feed(octets) == octets.size());
    REQUIRE(*deframer.next(18) == Step::kUlpdu);
    std::size_t offered = 0;
    for (int i = 0; i < 2; ++i) {
      deframer.overtake([&] { return ++offered == 0; });
    }
    CHECK(offered == (markers ? 0 : 1));
    Received received;
    drain(deframer, received);
    CHECK(received.ulpdus.size() == 2);
    REQUIRE(received.fault);
    CHECK(*received.fault == mpa::kCrcMismatch);
  }
}

}  // namespace iwarp::test
