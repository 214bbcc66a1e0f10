// SPDX-License-Identifier: Apache-2.0
// Measures the speed of every CRC32c kernel that this processor supports, both alone and fused with
// a copy, at relevant sizes: a small FPDU, a TCP segment, a large FPDU and more. If ISA-L was
// installed at build time, also measures ISA-L for comparison, both alone and after a copy. Makes
// no assertions.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"

#ifdef IWARP_HAVE_ISAL
#include <isa-l/crc.h>

#include <cstring>
#endif

namespace {

using iwarp::crc32c::Kernel;

constexpr std::int64_t kSizes[] = {64, 256, 1448, 16384, 65536, 1 << 20};

void report(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void extend(benchmark::State& state, const Kernel& kernel) {
  const std::vector<std::byte> octets(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
  for (auto _ : state) benchmark::DoNotOptimize(kernel.extend(0, octets));
  report(state);
}

void copy_extend(benchmark::State& state, const Kernel& kernel) {
  const std::vector<std::byte> octets(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
  std::vector<std::byte> to(octets.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernel.copy_extend(0, to.data(), octets));
    benchmark::ClobberMemory();
  }
  report(state);
}

#ifdef IWARP_HAVE_ISAL
// What a program without its own fused kernels would do: a copy, and then the CRC of the fastest
// library.
std::uint32_t isal_extend(std::uint32_t crc, iwarp::bytes::View octets) {
  auto* from = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(octets.data()));
  return ~crc32_iscsi(from, static_cast<int>(octets.size()), ~crc);
}

std::uint32_t isal_copy_extend(std::uint32_t crc, std::byte* to, iwarp::bytes::View from) {
  std::memcpy(to, from.data(), from.size());
  return isal_extend(crc, {to, from.size()});
}

constexpr Kernel kIsal{"isa-l", [] { return true; }, isal_extend, isal_copy_extend};
#endif

std::vector<Kernel> all_kernels() {
  const auto ours = iwarp::crc32c::kernels();
  std::vector<Kernel> out(ours.begin(), ours.end());
#ifdef IWARP_HAVE_ISAL
  out.push_back(kIsal);
#endif
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto kernels = all_kernels();
  for (const Kernel& kernel : kernels) {
    if (!kernel.supported()) continue;
    const std::string name = kernel.name;
    for (const std::int64_t size : kSizes) {
      const auto run = [&kernel](void (*what)(benchmark::State&, const Kernel&)) {
        return [what, &kernel](benchmark::State& state) { what(state, kernel); };
      };
      benchmark::RegisterBenchmark(("extend/" + name).c_str(), run(extend))->Arg(size);
      benchmark::RegisterBenchmark(("copy_extend/" + name).c_str(), run(copy_extend))->Arg(size);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
