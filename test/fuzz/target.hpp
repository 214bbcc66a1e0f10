// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets: the entry point that each of them defines, a reader that returns
// zeros after the end of the input, memory between inaccessible pages, and a check that is active
// in every build.
#pragma once

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "iwarp/bytes/view.hpp"

namespace iwarp::fuzz {

using bytes::Span;
using bytes::View;
using Octets = std::vector<std::byte>;

/// Runs once on hostile input. Returns when the input is used up. Aborts if a property is violated.
void run(View input);

/// Checks a property that must hold for every input.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", property);
  std::abort();
}

/// Returns the input piece by piece. When the input is used up, returns zeros and empty pieces.
class Input {
 public:
  explicit Input(View octets) : left_(octets) {}
  bool empty() const { return left_.empty(); }
  std::uint8_t u8() {
    const auto one = take(1);
    return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one[0]);
  }
  std::size_t u16() {
    const std::size_t high = u8();
    return high << 8 | u8();
  }
  bool flag() { return (u8() & 1) != 0; }
  /// Returns at most `n` octets, in a separate allocation, so that a sanitizer detects a read past
  /// their end.
  Octets octets(std::size_t n) {
    const auto view = take(n);
    return {view.begin(), view.end()};
  }
  View take(std::size_t n) {
    const auto view = left_.first(n < left_.size() ? n : left_.size());
    left_ = left_.subspan(view.size());
    return view;
  }

 private:
  View left_;
};

/// Detects changes in memory that must not change.
class Watched {
 public:
  explicit Watched(Span memory) : memory_(memory), expected_(memory.begin(), memory.end()) {}
  /// Allows changes of `part` from now on.
  void grant(Span part) { granted_.push_back(part); }
  bool untouched_elsewhere() {
    for (const Span part : granted_) {
      if (part.empty()) continue;
      std::memcpy(expected_.data() + (part.data() - memory_.data()), part.data(), part.size());
    }
    return std::memcmp(expected_.data(), memory_.data(), memory_.size()) == 0;
  }

 private:
  Span memory_;
  Octets expected_;
  std::vector<Span> granted_;
};

/// Memory between two pages that must not be accessed.
class GuardedMemory {
 public:
  static constexpr std::size_t kPage = 4096;
  explicit GuardedMemory(std::size_t pages) : size_(pages * kPage) {
    void* all = mmap(nullptr, size_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(all != MAP_FAILED, "memory for the fuzzer can be mapped");
    base_ = static_cast<std::byte*>(all);
    require(mprotect(base_ + kPage, size_, PROT_READ | PROT_WRITE) == 0,
            "the protection of the memory can be changed");
  }
  ~GuardedMemory() { munmap(base_, size_ + 2 * kPage); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  Span all() const { return {base_ + kPage, size_}; }

 private:
  std::size_t size_;
  std::byte* base_ = nullptr;
};

}  // namespace iwarp::fuzz
