// SPDX-License-Identifier: Apache-2.0
// Speed of every CRC32c kernel this processor supports, plain and fused with a copy, at the sizes
// that matter: a small FPDU, a TCP segment, a large FPDU and more. Nothing is asserted here.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"

namespace {

using iwarp::crc32c::Kernel;

constexpr std::int64_t kSizes[] = {64, 1448, 16384, 65536};

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

}  // namespace

int main(int argc, char** argv) {
  for (const Kernel& kernel : iwarp::crc32c::kernels()) {
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
