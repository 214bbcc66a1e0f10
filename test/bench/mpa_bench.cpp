// SPDX-License-Identifier: Apache-2.0
// Measures the cost of framing and deframing one FPDU without system calls: all octets of a plan
// are immediately marked as sent or received. Arguments: payload octets, CRC, markers. Makes no
// assertions.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/framer.hpp"

namespace {

using namespace iwarp::bytes;
using namespace iwarp::mpa;

constexpr std::size_t kHeader = 14;
constexpr int kBatch = 16;
constexpr std::size_t kMarkerInterval = 512;

struct Setup {
  explicit Setup(const benchmark::State& state)
      : payload(static_cast<std::size_t>(state.range(0)), std::byte{0x5A}),
        crc(state.range(1) != 0),
        markers(state.range(2) != 0) {}
  std::array<std::byte, kHeader> header{};
  std::vector<std::byte> payload;
  bool crc;
  bool markers;
};

void count(benchmark::State& state, std::int64_t fpdus = kBatch) {
  state.SetBytesProcessed(state.iterations() * fpdus * state.range(0));
  state.SetItemsProcessed(state.iterations() * fpdus);
}

void queue(Framer& framer, const Setup& setup, PayloadMode mode) {
  for (int i = 0; i < kBatch && framer.room(kHeader, setup.payload.size(), mode); ++i) {
    framer.frame(setup.header, Gather{View(setup.payload)}, mode, 0);
  }
}

void frame(benchmark::State& state, PayloadMode mode) {
  const Setup setup(state);
  Framer framer({.markers = setup.markers, .crc = setup.crc, .ring = 2 << 20, .max_pieces = 8192});
  for (auto _ : state) {
    queue(framer, setup, mode);
    benchmark::DoNotOptimize(framer.plan(1024).data());
    framer.sent(framer.queued_octets());
    while (framer.pop_sent()) {
    }
  }
  count(state);
}

struct Stream {
  std::vector<std::byte> octets;
  std::int64_t fpdus = 0;
};

/// Returns a stream that can be repeated, because the distance to the next marker is the same at
/// its beginning and at its end.
Stream batch(const Setup& setup) {
  Framer framer({.markers = setup.markers, .crc = setup.crc, .ring = 2 << 20, .max_pieces = 8192});
  Stream stream;
  while (stream.fpdus < kBatch || (setup.markers && stream.octets.size() % kMarkerInterval != 0)) {
    framer.frame(setup.header, Gather{View(setup.payload)}, PayloadMode::kInPlace, 0);
    for (const View piece : framer.plan(8192)) {
      stream.octets.insert(stream.octets.end(), piece.begin(), piece.end());
    }
    framer.sent(framer.queued_octets());
    while (framer.pop_sent()) {
    }
    ++stream.fpdus;
  }
  return stream;
}

/// Copies `from` into the receive plan, as reading from a socket does.
std::size_t read(Deframer& deframer, View from) {
  std::size_t n = 0;
  for (const Span piece : deframer.plan()) {
    const std::size_t take = std::min(piece.size(), from.size() - n);
    std::memcpy(piece.data(), from.data() + n, take);
    n += take;
    if (n == from.size()) break;
  }
  deframer.filled(n);
  return n;
}

void deframe(benchmark::State& state, bool place) {
  const Setup setup(state);
  const Stream stream = batch(setup);
  std::vector<std::byte> target(setup.payload.size());
  Deframer deframer({.markers = setup.markers, .crc = setup.crc});
  for (auto _ : state) {
    View rest(stream.octets);
    while (!rest.empty()) {
      rest = rest.subspan(read(deframer, rest));
      for (;;) {
        const Step step = *deframer.next(kHeader);
        if (step == Step::kNeedMore) break;
        if (step == Step::kPartial) {
          if (place) deframer.place(kHeader, Scatter{Span(target)});
          continue;
        }
        deframer.consume();
      }
    }
  }
  count(state, stream.fpdus);
}

void all_modes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t payload : {64, 1428, 16364, 60000}) {
    for (const std::int64_t crc : {0, 1}) {
      for (const std::int64_t markers : {0, 1}) benchmark->Args({payload, crc, markers});
    }
  }
}

BENCHMARK_CAPTURE(frame, in_place, PayloadMode::kInPlace)->Apply(all_modes);
BENCHMARK_CAPTURE(frame, copy, PayloadMode::kCopy)->Apply(all_modes);
BENCHMARK_CAPTURE(deframe, staged, false)->Apply(all_modes);
BENCHMARK_CAPTURE(deframe, placed, true)->Apply(all_modes);

}  // namespace

BENCHMARK_MAIN();
