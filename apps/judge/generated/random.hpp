// SPDX-License-Identifier: Apache-2.0
// A generator of random numbers that gives the same numbers for a seed with every standard library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace iwarp {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// Returns a number from 0 to n - 1. `n` must not be 0.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  std::size_t between(std::size_t least, std::size_t most) {
    return least + below(most - least + 1);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& list) {
    return list[below(N)];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace iwarp
