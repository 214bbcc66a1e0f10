// SPDX-License-Identifier: Apache-2.0
// Dice: the random numbers of one object. They depend only on the seed, on the kind of the object,
// and on how many objects of this kind were made before, so that one seed makes the same choices
// again as far as the threads of the program behave in the same way.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core::adversary {

/// Not thread-safe.
class Dice {
 public:
  enum class Kind : std::uint8_t {
    kQueue,
    kPlacement,
    kCarrier,
    kConnection,
    kPosts,
    kDispatch,
    kSizes,
    kDatagrams
  };

  Dice(std::uint64_t seed, Kind kind) {
    static std::array<std::atomic<std::uint64_t>, 8> made{};
    const auto ordinal = made[static_cast<std::size_t>(kind)].fetch_add(1);
    state_ = mix(seed + mix((ordinal << 8) + static_cast<std::uint64_t>(kind)));
  }

  /// Returns a number less than `bound`, which is not 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// Returns true in one of `n` cases.
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// Returns a time up to `most`; short times are more likely than long ones.
  std::chrono::microseconds up_to(std::chrono::microseconds most) {
    const auto limit = static_cast<std::uint64_t>(most.count()) >> below(8);
    return std::chrono::microseconds(below(limit + 1));
  }

 private:
  // The generator splitmix64.
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15); }

  std::uint64_t state_;
};

}  // namespace iwarp::rdma_core::adversary
