// SPDX-License-Identifier: Apache-2.0
// Carries a stream from a Framer to a Deframer with seeded random sizes, cuts and read-ahead. The
// receiver randomly stages each payload, places it at once, places it late, or abandons it, and
// gives its staging area back now and then. The received octets must equal the sent ones, in order.
#include <doctest/doctest.h>

#include <map>

#include "stream.hpp"

namespace iwarp::test {
namespace {

using bytes::Scatter;
using namespace mpa;

constexpr std::size_t kDdpHeader = 14;

enum class Fate { kStage, kPlace, kPlaceLate, kAbandon };

/// A receiver that picks a random treatment for each FPDU.
class Receiver {
 public:
  Receiver(const mpa::DeframerOptions& options, std::vector<Octets> sent, std::uint32_t seed)
      : options_(options), deframer_(options), sent_(std::move(sent)), random_(seed) {}

  void run(View stream) {
    while (index_ < sent_.size()) {
      const auto step = deframer_.next(kDdpHeader);
      REQUIRE(step);
      if (*step == Step::kNeedMore) {
        decide_late();
        if (random_() % 3 == 0) rest();
        const std::size_t n = fill(deframer_, stream, 1 + random_() % 9000, random_() % 4 != 0);
        REQUIRE(n > 0);
        stream = stream.subspan(n);
      } else if (*step == Step::kPartial) {
        on_partial();
      } else {
        on_complete(*step);
      }
    }
    CHECK(stream.empty());
    CHECK(deframer_.at_boundary());
    for (const Fate fate : {Fate::kStage, Fate::kPlace, Fate::kPlaceLate, Fate::kAbandon}) {
      CHECK(seen_[fate] > 0);  // The stream was long enough for each treatment to occur.
    }
  }

 private:
  void on_partial() {
    const View ulpdu(sent_[index_]);
    REQUIRE(deframer_.ulpdu_length() == ulpdu.size());
    const std::size_t prefix = std::min(kDdpHeader, ulpdu.size());
    REQUIRE(std::ranges::equal(deframer_.prefix(), ulpdu.first(prefix)));
    if (ulpdu.size() < kDdpHeader) return;
    fate_ = static_cast<Fate>(random_() % 4);
    open_ = fate_ != Fate::kStage;
    if (fate_ == Fate::kPlace || fate_ == Fate::kAbandon) place();
  }

  /// Called between two reads: places or abandons the payload if that was not done at kPartial.
  void decide_late() {
    if (!open_ || random_() % 2 == 0) return;
    if (fate_ == Fate::kPlaceLate) place();
    if (fate_ == Fate::kAbandon) {
      deframer_.abandon_placement();
      std::ranges::fill(target_, std::byte{0});
      abandoned_ = true;
    }
    open_ = false;
  }

  /// Gives the staging area back, and lets another Deframer use it and free it.
  void rest() {
    deframer_.rest();
    Deframer other(options_);
    std::ranges::fill(other.plan().front(), std::byte{0xEE});
  }

  void place() {
    target_.assign(sent_[index_].size() - kDdpHeader, std::byte{0});
    const std::size_t half = target_.size() / 2;
    const Span target(target_);
    deframer_.place(kDdpHeader, Scatter{target.first(half), target.subspan(half)});
    placed_ = true;
  }

  void on_complete(Step step) {
    const View ulpdu(sent_[index_]);
    REQUIRE(placed_ == (step == Step::kPlaced));
    if (!placed_) {
      REQUIRE(std::ranges::equal(join(deframer_.ulpdu()), ulpdu));
    } else if (abandoned_) {
      REQUIRE(std::ranges::count(target_, std::byte{0}) ==
              static_cast<std::ptrdiff_t>(target_.size()));
    } else {
      REQUIRE(std::ranges::equal(target_, ulpdu.subspan(kDdpHeader)));
    }
    ++seen_[abandoned_ ? Fate::kAbandon : placed_ ? fate_ : Fate::kStage];
    deframer_.consume();
    ++index_;
    open_ = placed_ = abandoned_ = false;
  }

  const mpa::DeframerOptions options_;
  Deframer deframer_;
  std::vector<Octets> sent_;
  std::mt19937 random_;
  std::size_t index_ = 0;
  Fate fate_ = Fate::kStage;
  bool open_ = false;
  bool placed_ = false;
  bool abandoned_ = false;
  Octets target_;
  std::map<Fate, int> seen_;
};

}  // namespace

TEST_CASE("no octet is lost, whatever the receiver does [MPA-32, MPA-33, MPA-56, MPA-117]") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const bool markers = seed % 2 != 0;
    const bool crc = seed % 3 != 0;
    std::mt19937 random(seed);
    const std::uint64_t position = (std::uint64_t{1} << 32) - 4 * (random() % 100000);
    ReferenceStream stream(markers, crc, position);
    std::vector<Octets> sent;
    for (std::uint32_t i = 0; i < 300; ++i) {
      const std::size_t most = i % 10 == 0 ? 64768 : i % 3 == 0 ? 5000 : 100;
      sent.push_back(random_octets(random() % most, i));
      if (!sent.back().empty()) std::ranges::replace(sent.back(), std::byte{0}, std::byte{1});
      stream.fpdu(sent.back());
    }
    Receiver receiver({.markers = markers,
                       .crc = crc,
                       .stage = seed % 4 == 0 ? 1U : 200000U,
                       .exact_above = seed % 5 == 0 ? 1U : 16384U,
                       .position = position},
                      std::move(sent), seed);
    receiver.run(stream.octets());
  }
}

}  // namespace iwarp::test
