// SPDX-License-Identifier: Apache-2.0
// Measures the cost of this stack without system calls: its passes over payload (copying, CRC32c,
// and both in one), its FPDUs and markers between two ends that are connected in memory, with CRC
// off, and its work requests.
#include <time.h>

#include <algorithm>
#include <cstring>

#include "common/serving/session.hpp"
#include "cost/bench/bench.hpp"
#include "iwarp/sim/pair.hpp"
#include "measure/basics/control.hpp"

namespace iwarp::apps::cost {

namespace {

using verbs::Access;
using verbs::WrOpcode;

constexpr std::size_t kPiece = 4096;
constexpr std::size_t kSegment = 1448;
constexpr double kRoundNs = 4e6;  // approximate duration of a round in ns

constexpr std::size_t kTaggedHeader = 14;
constexpr std::size_t kSmallestUlpdu = 128;  // size of a small ULPDU
constexpr std::size_t kFramed = 1440;        // payload of an FPDU that is not small
constexpr std::size_t kMarked = 2048;        // size of a ULPDU with four markers
constexpr std::size_t kMost = 256 * kSmallestUlpdu;
constexpr std::uint64_t kTimes = 400;

/// Number of small messages that are posted before the first of them completes, as in a stream.
constexpr std::uint64_t kBatch = 16;

/// Prevents the compiler from removing work whose result is not used.
void keep(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

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

/// Returns the processor time of `call`. Between any two calls the kernel transfers some bytes over
/// TCP, as in a real transfer; the time for these bytes is subtracted. Without this traffic, the
/// code of `call` would always be in the nearest caches.
double time_between_calls(const std::function<void()>& call, std::uint64_t times) {
  const auto deadline = measure::Clock::now() + measure::kTimeout;
  measure::Listener listener({.host = "127.0.0.1", .port = 0});
  auto near = measure::Socket::connect({.host = "127.0.0.1", .port = listener.port()}, deadline);
  auto far = listener.accept(deadline);
  if (!far) throw Error("cannot connect over loopback");
  std::array<std::byte, 1024> octets{};
  const auto echo = [&] {
    near.send(octets, measure::Clock::time_point::max());
    far->receive(octets, measure::Clock::time_point::max());
  };
  const auto both = [&] {
    call();
    echo();
  };
  return std::max(0.0, time_of(both, times) - time_of(echo, times));
}

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
      if (a->qp->post_send({.opcode = WrOpcode::kWrite,
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
  /// Measures a Write of most() FPDUs.
  Sample time_of_most() {
    return sample([&] { return time_of([&] { write(most()); }, kTimes); });
  }

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

/// Returns the cost of an FPDU with `payload` octets at both ends.
Sample fpdu_of(std::size_t payload) {
  Pair pair(kTaggedHeader + payload, false);
  const auto all = pair.time_of_most();
  return {all.value / static_cast<double>(pair.most()), all.spread};
}

/// Measures the cost of a marker at one end: the difference between Writes with and without
/// markers. The FPDUs are large, and their payload is copied next to the header.
Sample bench_marker() {
  Pair plain(kMarked, false);
  Pair marked(kMarked, true);
  const auto without = plain.time_of_most();
  const auto before = marked.markers();
  marked.write(marked.most());
  const auto markers = static_cast<double>(marked.markers() - before);
  const auto with = marked.time_of_most();
  return {std::max(0.0, (with.value - without.value) / markers / 2), with.spread + without.spread};
}

/// Connects two queue pairs of this process over loopback.
void connect(net::Rnic& rnic, verbs::QueuePair& near, verbs::QueuePair& far,
             net::CmChannel& requests, net::CmChannel& outcomes) {
  const auto listener = check(rnic.listen({"127.0.0.1", 0}, {}, requests), "cannot listen");
  check(rnic.connect(near, listener->local(), {}, outcomes), "cannot connect");
  const auto request = requests.wait(5s);
  if (!request || request->request == nullptr)
    throw Error("no connection request arrived over loopback");
  check(request->request->accept(far), "cannot accept");
  const auto outcome = outcomes.wait(5s);
  if (!outcome || outcome->type != net::CmEvent::Type::kEstablished) {
    throw Error("cannot connect over loopback");
  }
}

/// Measures the cost of posting, driving and completing a request that sends nothing: fast
/// registrations and local invalidates of a region on a live connection, in batches of kBatch.
/// Local requests take the same path as all other requests.
Sample bench_request() {
  const auto rnic = open_rnic();
  const auto channel = [&] {
    return check(rnic->create_cm_channel(), "cannot create an event channel");
  };
  const auto requests = channel();
  const auto outcomes = channel();
  const auto pd = check(rnic->alloc_pd(), "cannot allocate a protection domain");
  const auto cq = check(rnic->create_cq(64), "cannot create a completion queue");
  const auto queue_pair = [&] {
    return check(rnic->create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get()}),
                 "cannot create a queue pair");
  };
  const auto near = queue_pair();
  const auto far = queue_pair();
  const auto region =
      check(rnic->allocate_fast_region(*pd), "cannot allocate a fast-register region");
  connect(*rnic, *near, *far, *requests, *outcomes);
  std::vector<std::byte> memory(kPiece);
  const auto batch = [&] {
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const bool first = i % 2 == 0;
      check(near->post_send({.opcode = first ? WrOpcode::kFastRegister : WrOpcode::kLocalInvalidate,
                             .flags = verbs::SendFlags::kSignaled,
                             .invalidate = region.stag(),
                             .registration = {.stag = region.stag(),
                                              .address = memory.data(),
                                              .length = memory.size(),
                                              .access = Access::kLocalWrite}}),
            "cannot post");
    }
    verbs::WorkCompletion wc;
    for (std::uint64_t done = 0; done < kBatch;) {
      if (cq->poll({&wc, 1}) == 0) continue;
      if (wc.status != verbs::WcStatus::kSuccess) throw Error("a local work request failed");
      ++done;
    }
  };
  return sample([&] { return time_between_calls(batch, 1000) / kBatch; });
}

}  // namespace

Sample sample(const std::function<double()>& once, int rounds) {
  std::vector<double> results(static_cast<std::size_t>(rounds));
  std::ranges::generate(results, once);
  return offload_model::sample_of(std::move(results));
}

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

Findings bench_stack() {
  // The cost of an FPDU without its octets: twice the cost of an FPDU minus the cost of one with
  // twice the payload.
  const auto half = fpdu_of(kFramed / 2);
  const auto each = std::max(0.0, 2 * half.value - fpdu_of(kFramed).value);
  // A message costs the posting end what a local request costs, and both ends what it costs in
  // addition to its FPDU.
  Pair small(kSmallestUlpdu, false);
  const auto one =
      sample([&] { return time_between_calls([&] { small.write(1, kBatch); }, kTimes) / kBatch; });
  const auto request = bench_request();
  const Sample end{(request.value + std::max(0.0, one.value - each) / 2) / 2, request.spread};
  const std::string how = "two ends of this stack, connected in memory";
  const auto requests =
      "local work requests on a loopback connection, plus the cost of a message, measured with " +
      how;
  return {{"fpdu", {{each / 2, half.spread}, how}},
          {"marker", {bench_marker(), how}},
          {"post", {end, requests}},
          {"completion", {end, requests}}};
}

}  // namespace iwarp::apps::cost
