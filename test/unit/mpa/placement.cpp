// SPDX-License-Identifier: Apache-2.0
// Tests place(): payload goes straight to its destination, for every split between octets that were
// staged before the destination was known and octets that arrived later. Also tests the CRC check
// at the end. mixture.cpp tests streams of placed, staged and abandoned payloads.
#include <doctest/doctest.h>

#include "stream.hpp"

namespace iwarp::test {
namespace {

using bytes::Scatter;
using namespace mpa;

constexpr std::size_t kHeader = 14;
constexpr std::byte kGuard{0xA5};

/// A destination in several pieces with guard octets around each.
class Destination {
 public:
  Destination(std::size_t size, std::size_t pieces) {
    memory_.reserve(pieces);
    for (std::size_t i = 0; i < pieces; ++i) {
      const std::size_t part = size / (pieces - i);
      memory_.emplace_back(part + 2, kGuard);
      size -= part;
    }
  }
  Scatter pieces() {
    Scatter all;
    for (auto& m : memory_) all.push_back(Span(m).subspan(1, m.size() - 2));
    return all;
  }
  Octets content() const {
    Octets all;
    for (const auto& m : memory_) all.insert(all.end(), m.begin() + 1, m.end() - 1);
    return all;
  }
  bool guards_intact() const {
    return std::ranges::all_of(
        memory_, [](const Octets& m) { return m.front() == kGuard && m.back() == kGuard; });
  }
  void clear() {
    for (auto& m : memory_) std::ranges::fill(m, kGuard);
  }

 private:
  std::vector<Octets> memory_;
};

/// Feeds the first `first` octets of the stream. Returns whether kPartial was reached.
bool reach_partial(Deframer& deframer, View stream, std::size_t first) {
  if (fill(deframer, stream, first) != first) return false;
  const auto step = deframer.next(kHeader);
  return step && *step == Step::kPartial;
}

/// Feeds `rest` in pieces of `cut` octets. Returns the step after the last octet.
mpa::StepOrFault finish(Deframer& deframer, View rest, std::size_t cut) {
  mpa::StepOrFault step = Step::kNeedMore;
  while (!rest.empty()) {
    rest = rest.subspan(fill(deframer, rest, cut));
    step = deframer.next(kHeader);
    if (!rest.empty() && (!step || *step != Step::kNeedMore))
      return mpa::StepOrFault(&mpa::kTcpLost);
  }
  return step;
}

}  // namespace

TEST_CASE("payloads are placed for every split between staging and destination [MPA-34, MPA-56]") {
  for (const bool markers : {false, true}) {
    for (const bool crc : {false, true}) {
      for (const std::size_t size : {15U, 16U, 17U, 30U, 505U, 1200U}) {
        for (const std::uint64_t position : {0U, 4U, 480U}) {
          INFO("markers ", markers, ", crc ", crc, ", size ", size, ", position ", position);
          const Octets ulpdu = random_octets(size, 1);
          const auto stream = ReferenceStream(markers, crc, position).fpdu(ulpdu);
          const View octets(stream.octets());
          Destination destination(size - kHeader, 3);
          std::size_t tried = 0;
          for (std::size_t split = 2; split < octets.size(); ++split) {
            CAPTURE(split);
            Deframer deframer({.markers = markers, .crc = crc, .position = position});
            if (!reach_partial(deframer, octets, split)) continue;
            ++tried;
            destination.clear();
            deframer.place(kHeader, destination.pieces());
            const std::size_t cut = split % 3 == 0 ? 1 : split % 3 == 1 ? 97 : octets.size();
            const auto step = finish(deframer, octets.subspan(split), cut);
            REQUIRE(step);
            REQUIRE(*step == Step::kPlaced);
            REQUIRE(*deframer.next(kHeader) == Step::kPlaced);
            REQUIRE(deframer.ulpdu_length() == size);
            REQUIRE(std::ranges::equal(destination.content(), View(ulpdu).subspan(kHeader)));
            REQUIRE(destination.guards_intact());
            deframer.consume();
            REQUIRE(deframer.at_boundary());
            REQUIRE(deframer.counters().fpdus == 1);
          }
          CHECK(tried + 2 + kHeader + 4 >= octets.size() - 8);
        }
      }
    }
  }
}

TEST_CASE("place() works when only the header has arrived, and with an empty ULPDU") {
  for (const std::size_t size : {std::size_t{0}, kHeader}) {
    const auto stream = ReferenceStream(true, true).fpdu(Octets(size, std::byte{7}));
    const View octets(stream.octets());
    for (std::size_t split = 6 + size; split < octets.size(); ++split) {
      Deframer deframer({.markers = true});
      REQUIRE(reach_partial(deframer, octets, split));
      deframer.place(size, Scatter{});
      CHECK(*finish(deframer, octets.subspan(split), 1) == Step::kPlaced);
    }
  }
}

TEST_CASE("once payloads are placed, only the beginning of the next large FPDU is read ahead") {
  ReferenceStream stream(false, true);
  const Octets ulpdu = random_octets(50000, 3);
  for (int i = 0; i < 20; ++i) stream.fpdu(ulpdu);
  Deframer deframer({});
  Octets destination(ulpdu.size() - kHeader);
  View rest(stream.octets());
  rest = rest.subspan(fill(deframer, rest, 20));
  for (int i = 0; i < 20; ++i) {
    REQUIRE(*deframer.next(kHeader) == Step::kPartial);
    deframer.place(kHeader, Scatter{Span(destination)});
    rest = rest.subspan(fill(deframer, rest, 1000000));  // Each FPDU takes one read.
    REQUIRE(*deframer.next(kHeader) == Step::kPlaced);
    deframer.consume();
  }
  CHECK(rest.empty());
  CHECK(deframer.counters().octets_copied < 20 * 20);
}

TEST_CASE("of a large and a small FPDU the large one is placed, and one read covers both") {
  ReferenceStream stream(false, true);
  const Octets large = random_octets(50000, 3);
  const Octets small = random_octets(90, 4);
  constexpr int kMessages = 20;
  for (int i = 0; i < kMessages; ++i) {
    stream.fpdu(large);
    stream.fpdu(small);
  }
  Deframer deframer({});
  Octets destination(large.size() - kHeader);
  View rest(stream.octets());
  rest = rest.subspan(fill(deframer, rest, 20));
  int reads = 0;
  const auto read = [&] {
    REQUIRE_FALSE(rest.empty());
    ++reads;
    rest = rest.subspan(fill(deframer, rest, 1000000));
  };
  for (int i = 0; i < kMessages; ++i) {
    REQUIRE(*deframer.next(kHeader) == Step::kPartial);
    deframer.place(kHeader, Scatter{Span(destination)});
    read();
    REQUIRE(*deframer.next(kHeader) == Step::kPlaced);
    REQUIRE(std::ranges::equal(destination, View(large).subspan(kHeader)));
    deframer.consume();
    while (*deframer.next(kHeader) != Step::kUlpdu) read();
    REQUIRE(join(deframer.ulpdu()) == small);
    deframer.consume();
  }
  CHECK(rest.empty());
  CHECK(reads <= kMessages + 1);
  CHECK(deframer.counters().octets_copied < kMessages * 64);
}

TEST_CASE("after a large placed FPDU the plan covers little of the next, else more") {
  for (const std::size_t size : {50000U, 500U}) {
    const auto stream = ReferenceStream(false, true).fpdu(random_octets(size, 9));
    const View octets(stream.octets());
    Deframer deframer({});
    REQUIRE(reach_partial(deframer, octets, 20));
    Octets destination(size - kHeader);
    deframer.place(kHeader, Scatter{Span(destination)});
    REQUIRE(*finish(deframer, octets.subspan(20), octets.size()) == Step::kPlaced);
    deframer.consume();
    const std::size_t planned = bytes::total_size(deframer.plan());
    if (size == 50000) {
      CHECK(planned >= 2 + kHeader);
      CHECK(planned < 64);
    } else {
      CHECK(planned == mpa::DeframerOptions{}.stage);
    }
  }
}

TEST_CASE("a flipped bit in a placed FPDU is a CRC mismatch, and never kPlaced [MPA-46]") {
  for (const bool markers : {false, true}) {
    const auto stream = ReferenceStream(markers, true).fpdu(random_octets(600, 4));
    Destination destination(600 - kHeader, 1);
    const std::size_t front = markers ? 6 : 2;
    for (std::size_t at = front; at < stream.octets().size(); ++at) {
      CAPTURE(at);
      Octets octets = stream.octets();
      octets[at] ^= std::byte{0x10};
      Deframer deframer({.markers = markers});
      REQUIRE(reach_partial(deframer, octets, 40));
      deframer.place(kHeader, destination.pieces());
      const auto step = finish(deframer, View(octets).subspan(40), 200);
      REQUIRE(!step);
      REQUIRE(step.error() == mpa::kCrcMismatch);
      REQUIRE(deframer.plan().empty());
    }
  }
}

TEST_CASE("a wrong marker in a placed FPDU is error 3, wherever the marker is [MPA-110]") {
  for (const bool crc : {true, false}) {
    for (const std::size_t size : {503U, 506U, 900U, 1525U}) {
      ReferenceStream stream(true, crc, 4);
      stream.fpdu(random_octets(size, 5), {.wrong_ptr = 4});
      const View octets(stream.octets());
      Destination destination(size - kHeader, 2);
      for (const std::size_t split : {std::size_t{16}, std::size_t{300}, octets.size() - 5}) {
        Deframer deframer({.markers = true, .crc = crc, .position = 4});
        REQUIRE(reach_partial(deframer, octets, split));
        deframer.place(kHeader, destination.pieces());
        const auto step = finish(deframer, octets.subspan(split), 111);
        REQUIRE(!step);
        CHECK(step.error() == mpa::kMarkerMismatch);
      }
    }
  }
}

TEST_CASE("place() works if the FPDU was completed after kPartial") {
  ReferenceStream stream(true, true);
  const Octets ulpdu = random_octets(700, 7);
  stream.fpdu(ulpdu);
  stream.fpdu(ulpdu);
  const View octets(stream.octets());
  Deframer deframer({.markers = true});
  REQUIRE(reach_partial(deframer, octets, 30));
  REQUIRE(fill(deframer, octets.subspan(30), octets.size()) == octets.size() - 30);
  Destination destination(700 - kHeader, 1);
  deframer.place(kHeader, destination.pieces());
  REQUIRE(*deframer.next(kHeader) == Step::kPlaced);
  CHECK(std::ranges::equal(destination.content(), View(ulpdu).subspan(kHeader)));
  deframer.consume();
  REQUIRE(*deframer.next(kHeader) == Step::kUlpdu);
  CHECK(join(deframer.ulpdu()) == ulpdu);
}

}  // namespace iwarp::test
