// SPDX-License-Identifier: Apache-2.0
// Target: the deframer. The input selects its options and where the stream is split (RFC 5044
// sections 4 to 6). Properties: a placed payload stays inside its destination, no ULPDU follows a
// Fault, and without markers and CRC the ULPDUs equal those that a trivial parser finds.
#include "iwarp/mpa/deframer.hpp"

#include <algorithm>

#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace mpa;

constexpr std::byte kUntouched{0xA5};

struct Options {
  mpa::DeframerOptions deframer;
  bool place;
  bool abandon;
  bool read_ahead;
  bool rest;  ///< whether the staging area is given back whenever it is empty
  std::size_t chunk;
};

// Returns the ULPDUs of a stream without markers. Ignores the CRC fields.
std::vector<Octets> parse(View stream) {
  std::vector<Octets> out;
  while (stream.size() >= 2) {
    const std::size_t length =
        std::to_integer<std::size_t>(stream[0]) << 8 | std::to_integer<std::size_t>(stream[1]);
    const auto size = mpa::fpdu_size(length);
    if (stream.size() < size) break;
    const auto ulpdu = stream.subspan(2, length);
    out.emplace_back(ulpdu.begin(), ulpdu.end());
    stream = stream.subspan(size);
  }
  return out;
}

// Returns guarded memory that has room for the longest ULPDU. Destinations end at the end of this
// memory, so that a write past their end faults.
Span shared_memory() {
  static const GuardedMemory memory(17);
  return memory.all();
}

class Harness {
 public:
  explicit Harness(const Options& options) : options_(options), deframer_(options.deframer) {
    if (options.place) std::fill(memory_.begin(), memory_.end(), kUntouched);
  }

  /// Feeds the whole stream. Returns false if a Fault ended it.
  bool feed(View stream) {
    while (!stream.empty()) {
      if (options_.rest) deframer_.rest();
      const auto plan = deframer_.plan(options_.read_ahead);
      require(bytes::total_size(plan) > 0, "the receive plan has room while no ULPDU waits");
      auto left = std::min({stream.size(), options_.chunk, bytes::total_size(plan)});
      const auto n = left;
      for (const Span piece : plan) {
        const auto take = std::min(left, piece.size());
        std::copy_n(stream.begin(), take, piece.begin());
        stream = stream.subspan(take);
        left -= take;
      }
      deframer_.filled(n);
      if (!drain()) return false;
    }
    return true;
  }

  const std::vector<Octets>& ulpdus() const { return ulpdus_; }

 private:
  bool drain() {
    while (true) {
      const auto step = deframer_.next(18);
      if (!step) {
        const auto again = deframer_.next(18);
        require(!again && again.error() == step.error(), "a Fault is final");
        return false;
      }
      if (*step == Step::kNeedMore) return true;
      if (*step == Step::kPartial) {
        partial();
        continue;
      }
      if (*step == Step::kUlpdu) staged();
      if (*step == Step::kPlaced) placed();
      deframer_.consume();
      target_ = {};
    }
  }

  void partial() {
    const auto length = deframer_.ulpdu_length();
    const auto header = std::min<std::size_t>(14, length);
    require(deframer_.prefix().size() >= header, "the prefix is complete");
    if (!options_.place) return;
    header_.assign(deframer_.prefix().begin(),
                   deframer_.prefix().begin() + static_cast<std::ptrdiff_t>(header));
    target_ = memory_.last(length - header);
    // Uses a destination of two pieces, to cover the boundary between pieces.
    const auto half = target_.size() / 2;
    deframer_.place(header, {target_.first(half), target_.subspan(half)});
    if (options_.abandon) {
      deframer_.abandon_placement();
      std::fill(target_.begin(), target_.end(), kUntouched);
      abandoned_ = true;
    }
  }

  void staged() {
    Octets whole;
    for (const View piece : deframer_.ulpdu())
      whole.insert(whole.end(), piece.begin(), piece.end());
    require(whole.size() == deframer_.ulpdu_length(),
            "a ULPDU has the length that the deframer reports");
    ulpdus_.push_back(std::move(whole));
  }

  void placed() {
    const auto before = memory_.first(memory_.size() - target_.size());
    require(std::ranges::all_of(before, [](auto b) { return b == kUntouched; }),
            "nothing in front of the place changes");
    if (abandoned_) {
      require(std::ranges::all_of(target_, [](auto b) { return b == kUntouched; }),
              "an abandoned place is left alone");
      lost_ = true;
    }
    Octets whole = header_;
    whole.insert(whole.end(), target_.begin(), target_.end());
    require(whole.size() == deframer_.ulpdu_length(),
            "a placed ULPDU has the length that the deframer reports");
    ulpdus_.push_back(std::move(whole));
    std::fill(target_.begin(), target_.end(), kUntouched);
    abandoned_ = false;
  }

 public:
  bool lost() const { return lost_; }

 private:
  const Options options_;
  Deframer deframer_;
  Span memory_ = shared_memory();
  Span target_;
  Octets header_;
  std::vector<Octets> ulpdus_;
  bool abandoned_ = false;
  bool lost_ = false;  ///< whether payload was abandoned, so that ulpdus() is incomplete
};

}  // namespace

void run(View input) {
  Input in(input);
  const auto bits = in.u8();
  const Options options{.deframer = {.markers = (bits & 1) != 0,
                                     .crc = (bits & 2) != 0,
                                     .stage = 4096,
                                     .exact_above = (bits & 4) != 0 ? std::size_t{64} : 16384},
                        .place = (bits & 8) != 0,
                        .abandon = (bits & 16) != 0,
                        .read_ahead = (bits & 32) == 0,
                        .rest = (bits & 64) != 0,
                        .chunk = std::size_t{1} + in.u8() * std::size_t{7}};
  const auto stream = in.octets(input.size());
  Harness harness(options);
  const bool whole = harness.feed(stream);
  if (options.deframer.markers || options.deframer.crc || harness.lost()) return;
  require(whole, "without markers and CRC no stream causes a fault");
  require(harness.ulpdus() == parse(stream), "the ULPDUs are those of the stream");
}

}  // namespace iwarp::fuzz
