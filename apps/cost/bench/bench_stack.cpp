// SPDX-License-Identifier: Apache-2.0
// Measures the cost of this stack without system calls: two ends are connected in memory, with CRC
// off. The benchmark measures batches of Writes of one small FPDU, and Writes of many FPDUs of two
// sizes. It computes from them the costs of an FPDU and of a message. The cost of a marker is the
// difference between Writes with and without markers. The FPDUs of these Writes are larger, and
// their payload is copied next to the header.
#include <algorithm>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "iwarp/sim/pair.hpp"

namespace iwarp::apps::cost {

namespace {

using verbs::Access;

constexpr std::size_t kTaggedHeader = 14;
constexpr std::size_t kSmallestUlpdu = 128;  // size of a small ULPDU
constexpr std::size_t kFramed = 1440;        // payload of an FPDU that is not small
constexpr std::size_t kMarked = 2048;        // size of a ULPDU with four markers
constexpr std::size_t kMost = 256 * kSmallestUlpdu;

/// Two connected ends with CRC off. Their clock stands still, so no timer expires.
class Pair : sim::Pair {
 public:
  Pair(std::size_t ulpdu, bool markers)
      : sim::Pair(options(ulpdu, markers), options(ulpdu, markers)),
        payload(ulpdu - kTaggedHeader),
        source(a->memory(kMost, Access::kLocalWrite)),
        target(b->memory(kMost, Access::kLocalWrite | Access::kRemoteWrite)) {
    if (!establish()) throw Error("in-memory stack: the two ends did not connect");
  }

  void write(std::size_t fpdus, std::uint64_t messages = 1) {
    const auto octets = sim::sge(source, 0, fpdus * payload);
    for (std::uint64_t i = 0; i < messages; ++i) {
      if (a->qp->post_send({.opcode = verbs::WrOpcode::kWrite,
                            .flags = verbs::SendFlags::kSignaled,
                            .sgl = {&octets, 1},
                            .remote = sim::remote(target)})) {
        throw Error("in-memory stack: a request was rejected");
      }
    }
    while (move(*a, *b) || move(*b, *a)) {
    }
    verbs::WorkCompletion wc;
    for (std::uint64_t i = 0; i < messages; ++i) {
      if (a->cq.poll({&wc, 1}) != 1) throw Error("in-memory stack: a request did not complete");
    }
  }

  /// Returns the number of FPDUs whose payload fills the memory.
  std::size_t most() const { return kMost / payload; }
  std::uint64_t markers() const { return a->connection->counters().markers_sent; }

 private:
  static verbs::ConnectionOptions options(std::size_t ulpdu, bool markers) {
    verbs::ConnectionOptions options;
    options.startup.crc = false;
    options.startup.markers = markers;
    options.max_ulpdu = ulpdu;
    return options;
  }

  /// Copies the output of `from` straight to where `to` receives it, without the simulated link, to
  /// measure only the stack. Returns whether anything was copied.
  static bool move(sim::End& from, sim::End& to) {
    return from.transmit(SIZE_MAX, [&to](bytes::View piece) {
      while (!piece.empty()) {
        const auto n = to.receive(piece);
        if (n == 0) throw Error("in-memory stack: the receiving end accepted no octets");
        piece = piece.subspan(n);
      }
    }) != 0;
  }

  std::size_t payload;
  verbs::Region* source;
  verbs::Region* target;
};

}  // namespace

Framing bench_framing() {
  constexpr std::uint64_t kTimes = 400;
  constexpr double kSides = 2;
  const auto time_of_most = [](Pair& pair) {
    return sample([&] { return time_of([&] { pair.write(pair.most()); }, kTimes); });
  };
  // The cost of an FPDU without its octets: twice the cost of an FPDU minus the cost of one with
  // twice the payload.
  const auto fpdu_of = [&](std::size_t payload) {
    Pair pair(kTaggedHeader + payload, false);
    const auto all = time_of_most(pair);
    return Sample{all.value / static_cast<double>(pair.most()), all.spread};
  };
  const auto half = fpdu_of(kFramed / 2);
  const auto each = std::max(0.0, 2 * half.value - fpdu_of(kFramed).value);
  Pair small(kSmallestUlpdu, false);
  const auto one =
      sample([&] { return time_between_calls([&] { small.write(1, kBatch); }, kTimes) / kBatch; });

  Pair plain(kMarked, false);
  Pair marked(kMarked, true);
  const auto without = time_of_most(plain);
  const auto before = marked.markers();
  marked.write(marked.most());
  const auto markers = static_cast<double>(marked.markers() - before);
  const auto with = time_of_most(marked);
  return {{each / kSides, half.spread},
          {std::max(0.0, (with.value - without.value) / markers / kSides),
           with.spread + without.spread},
          {std::max(0.0, one.value - each), one.spread}};
}

}  // namespace iwarp::apps::cost
