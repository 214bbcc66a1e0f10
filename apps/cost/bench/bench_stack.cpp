// SPDX-License-Identifier: Apache-2.0
// Measures the cost of this stack without system calls: two ends are connected in memory, with CRC
// off. The benchmark measures Writes of one small FPDU and Writes of many small FPDUs, and computes
// from them the costs of an FPDU and of a message. The cost of a marker is the difference between
// Writes with and without markers. The FPDUs of these Writes are larger, and their payload is
// copied next to the header.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/memory.hpp"

namespace iwarp::apps::cost {

namespace {

using bytes::View;
using verbs::Access;

constexpr std::size_t kTaggedHeader = 14;
constexpr std::size_t kSmallestUlpdu = 128;  // size of a small ULPDU
constexpr std::size_t kMarked = 2048;        // size of a ULPDU with four markers
constexpr std::size_t kMost = 256 * kSmallestUlpdu;

/// One end: queues, memory and connection. Every call of the connection's functions passes zero as
/// the current time, so no timer expires.
class End final : public verbs::QpDriver {
 public:
  End()
      : stags(16, [this] { return static_cast<std::uint32_t>(random_()); }),
        cq(64, [] {}),
        memory(kMost) {
    qp = std::make_unique<verbs::QueuePair>(1,
                                            verbs::QpInit{.pd = 1, .send_cq = &cq, .recv_cq = &cq},
                                            stags, [](const verbs::AsyncEvent&) {});
    region = *stags.create({.pd = 1,
                            .address = memory.data(),
                            .length = memory.size(),
                            .access = Access::kLocalWrite | Access::kRemoteWrite});
  }

  bool posted(verbs::Doorbell) override { return false; }
  void receive_posted() override {}
  void resume_soon() override {}
  void disconnect() override {}
  void terminate() override {}
  void abort() override { connection->abort({}); }

 private:
  std::mt19937 random_{1};

 public:
  verbs::StagTable stags;
  verbs::CompletionQueue cq;
  std::vector<std::byte> memory;
  std::unique_ptr<verbs::QueuePair> qp;
  std::unique_ptr<verbs::Connection> connection;
  verbs::Region* region = nullptr;
};

/// Copies the output of `from` to the receive buffer of `to`. Returns whether anything was copied.
bool move(End& from, End& to) {
  const auto out = from.connection->transmit_plan(256, {});
  if (out.empty()) return false;
  std::size_t sent = 0;
  for (auto piece : out) {
    while (!piece.empty()) {
      const auto in = to.connection->receive_plan();
      if (in.empty()) throw Error("in-memory stack: an end does not receive");
      std::size_t taken = 0;
      for (const auto& space : in) {
        const auto n = std::min(space.size(), piece.size());
        std::memcpy(space.data(), piece.data(), n);
        piece = piece.subspan(n);
        taken += n;
        if (piece.empty()) break;
      }
      to.connection->received(taken, {});
      sent += taken;
    }
  }
  from.connection->transmitted(sent, {});
  return true;
}

class Pair {
 public:
  Pair(std::size_t ulpdu, bool markers)
      : payload(ulpdu - kTaggedHeader), a(std::make_shared<End>()), b(std::make_shared<End>()) {
    verbs::ConnectionOptions options;
    options.startup.crc = false;
    options.startup.markers = markers;
    options.max_ulpdu = ulpdu;
    a->connection = std::make_unique<verbs::Connection>(mpa::Role::kInitiator, a->qp.get(), *a,
                                                        options, nullptr);
    b->connection =
        std::make_unique<verbs::Connection>(mpa::Role::kResponder, nullptr, *b, options, nullptr);
    b->connection->listen({});
    a->connection->connect({}, {});
    run();
    b->connection->event();
    b->connection->accept(*b->qp, {}, 1, 1, {});
    run();
    if (a->qp->state() != verbs::QpState::kRts)
      throw Error("in-memory stack: the ends do not connect");
  }
  ~Pair() {
    // A connected queue pair shares ownership of its driver. Aborting both connections releases the
    // drivers.
    a->connection->abort({});
    b->connection->abort({});
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void write(std::size_t fpdus) {
    const verbs::Sge sge{a->memory.data(), static_cast<std::uint32_t>(fpdus * payload),
                         verbs::Stag{a->region->stag.load()}};
    if (a->qp->post_send({.opcode = verbs::WrOpcode::kWrite,
                          .flags = verbs::SendFlags::kSignaled,
                          .sgl = {&sge, 1},
                          .remote = {verbs::Stag{b->region->stag.load()}, b->region->to_base}})) {
      throw Error("in-memory stack: a request was rejected");
    }
    run();
    verbs::WorkCompletion wc;
    if (a->cq.poll({&wc, 1}) != 1) throw Error("in-memory stack: a request did not complete");
  }

  /// Returns the number of FPDUs whose payload fills the memory.
  std::size_t most() const { return kMost / payload; }
  std::uint64_t markers() const { return a->connection->counters().markers_sent; }

 private:
  void run() {
    while (move(*a, *b) || move(*b, *a)) {
    }
  }

  std::size_t payload;
  std::shared_ptr<End> a;
  std::shared_ptr<End> b;
};

}  // namespace

Framing bench_framing() {
  constexpr std::uint64_t kTimes = 400;
  constexpr double kSides = 2;
  const auto time_of_most = [](Pair& pair) {
    return sample([&] { return time_of([&] { pair.write(pair.most()); }, kTimes); });
  };
  Pair small(kSmallestUlpdu, false);
  const auto one = sample([&] { return time_between_calls([&] { small.write(1); }, 10 * kTimes); });
  const auto many = time_of_most(small);
  const auto each = (many.value - one.value) / static_cast<double>(small.most() - 1);

  Pair plain(kMarked, false);
  Pair marked(kMarked, true);
  const auto without = time_of_most(plain);
  const auto before = marked.markers();
  marked.write(marked.most());
  const auto markers = static_cast<double>(marked.markers() - before);
  const auto with = time_of_most(marked);
  return {{each / kSides, many.spread},
          {std::max(0.0, (with.value - without.value) / markers / kSides),
           with.spread + without.spread},
          {std::max(0.0, one.value - each), one.spread}};
}

}  // namespace iwarp::apps::cost
