// SPDX-License-Identifier: Apache-2.0
// Measures the cost per byte of copying and of CRC32c. Also contains code that all benchmarks use.
#include <time.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "cost/bench/bench.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr std::size_t kPiece = 4096;
constexpr std::size_t kSegment = 1448;
constexpr double kRoundNs = 4e6;  // approximate duration of a round in ns

/// Prevents the compiler from removing work whose result is not used.
void keep(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

std::size_t read_cache(const char* path) {
  std::ifstream in(path);
  std::size_t number = 0;
  char unit = 0;
  in >> number >> unit;
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

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

Sample bench_copy(std::size_t octets) {
  const auto half = std::max(octets / 2 / kPiece, std::size_t{1}) * kPiece;
  const std::vector<std::byte> from(half, std::byte{1});
  std::vector<std::byte> to(half, std::byte{2});
  const auto pass = [&] {
    for (std::size_t at = 0; at < half; at += kPiece) {
      std::memcpy(to.data() + at, from.data() + at, kPiece);
      keep(to.data());
    }
  };
  const auto times =
      static_cast<std::uint64_t>(std::max(1.0, kRoundNs / std::max(time_of(pass, 2), 1.0)));
  return sample([&] { return time_of(pass, times) / static_cast<double>(half); });
}

Sample bench_crc(const crc32c::Kernel& kernel) {
  const std::vector<std::byte> octets(kSegment, std::byte{0x5A});
  std::uint32_t crc = 0;
  const auto pass = [&] {
    crc = kernel.extend(crc, octets);
    keep(&crc);
  };
  const auto times =
      static_cast<std::uint64_t>(std::max(1.0, kRoundNs / std::max(time_of(pass, 64), 1.0)));
  return sample([&] { return time_of(pass, times) / static_cast<double>(kSegment); });
}

CacheSizes cache_sizes() {
  constexpr std::size_t kUsualSecond = 512 << 10;
  constexpr std::size_t kUsualThird = 8 << 20;
  const auto second = read_cache("/sys/devices/system/cpu/cpu0/cache/index2/size");
  const auto third = read_cache("/sys/devices/system/cpu/cpu0/cache/index3/size");
  return {second > 0 ? second : kUsualSecond, third > 0 ? third : kUsualThird};
}

}  // namespace iwarp::apps::cost
