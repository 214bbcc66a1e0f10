// SPDX-License-Identifier: Apache-2.0
// Measures the cost per byte of the passes over payload: copying, CRC32c, and both in one. Also
// contains code that all benchmarks use.
#include <time.h>

#include <algorithm>
#include <cstring>

#include "cost/bench/bench.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::size_t kPiece = 4096;
constexpr std::size_t kSegment = 1448;
constexpr double kRoundNs = 4e6;  // approximate duration of a round in ns

/// Prevents the compiler from removing work whose result is not used.
void keep(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

}  // namespace

Sample sample(const std::function<double()>& once, int rounds) {
  std::vector<double> results(static_cast<std::size_t>(rounds));
  std::ranges::generate(results, once);
  return offload_model::sample_of(std::move(results));
}

/// Measures the processor time of this thread, and not the elapsed time, so that other programs on
/// this machine do not affect the result.
double time_of(const std::function<void()>& call, std::uint64_t times) {
  const auto now = [] {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) * 1e9 + static_cast<double>(at.tv_nsec);
  };
  const auto start = now();
  for (std::uint64_t i = 0; i < times; ++i) call();
  return (now() - start) / static_cast<double>(times);
}

namespace {

/// Measures the cost per byte of a pass, which reads `piece` bytes and may write them to another
/// place. The passes go over `octets` bytes, half of them source.
template <typename Pass>
Sample bench_pass(std::size_t octets, std::size_t piece, Pass pass) {
  const auto half = std::max(octets / 2 / piece, std::size_t{1}) * piece;
  const std::vector<std::byte> from(half, std::byte{1});
  std::vector<std::byte> to(half, std::byte{2});
  const auto all = [&] {
    for (std::size_t at = 0; at < half; at += piece) {
      const auto crc = pass(to.data() + at, bytes::View(from).subspan(at, piece));
      keep(&crc);
      keep(to.data());
    }
  };
  const auto times =
      static_cast<std::uint64_t>(std::max(1.0, kRoundNs / std::max(time_of(all, 2), 1.0)));
  return sample([&] { return time_of(all, times) / static_cast<double>(half); });
}

}  // namespace

Sample bench_copy(std::size_t octets) {
  return bench_pass(octets, kPiece, [](std::byte* to, bytes::View from) {
    std::memcpy(to, from.data(), from.size());
    return 0U;
  });
}

Passes bench_passes(const crc32c::Kernel& kernel, std::size_t octets) {
  // Each CRC continues the previous one, so that the processor cannot compute two at a time.
  std::uint32_t crc = 0;
  const auto alone = bench_pass(octets, kSegment, [&](std::byte* /*to*/, bytes::View from) {
    return crc = kernel.extend(crc, from);
  });
  const auto with_copy = bench_pass(octets, kSegment, [&](std::byte* to, bytes::View from) {
    return crc = kernel.copy_extend(crc, to, from);
  });
  return {bench_copy(octets), alone, with_copy};
}

}  // namespace iwarp::apps::cost
