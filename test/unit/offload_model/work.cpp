// SPDX-License-Identifier: Apache-2.0
// Ties the model to the stack: the work that the model assumes for a message must equal the work
// that two ends in memory do. If a change of the stack fails this test, change stack_work() too,
// and the micro-benchmark of the pass that changed.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/offload_model/cost.hpp"
#include "iwarp/sim/pair.hpp"
#include "support.hpp"

using namespace iwarp;
using namespace iwarp::offload_model;

namespace {

constexpr std::size_t kLargest = 1 << 20;
constexpr std::size_t kIovecs = 256;  // number of elements that the driver passes to sendmsg()
constexpr double kTaggedHeader = 14;

const crc32c::Kernel& chosen = crc32c::active();
std::atomic<int> crc_passes{0};

/// While it exists, each pass that computes a CRC with `kernel` is counted in `crc_passes`.
class CountedPasses {
 public:
  explicit CountedPasses(const crc32c::Kernel& kernel) {
    real_ = &kernel;
    crc32c::use(kCounting);
  }
  ~CountedPasses() { crc32c::use(chosen); }
  CountedPasses(const CountedPasses&) = delete;
  CountedPasses& operator=(const CountedPasses&) = delete;

 private:
  static std::uint32_t extend(std::uint32_t crc, bytes::View octets) {
    ++crc_passes;
    return real_->extend(crc, octets);
  }
  static std::uint32_t copy_extend(std::uint32_t crc, std::byte* to, bytes::View from) {
    ++crc_passes;
    return real_->copy_extend(crc, to, from);
  }
  static const crc32c::Kernel* real_;
  static constexpr crc32c::Kernel kCounting{"counting", [] { return true; }, extend, copy_extend};
};
const crc32c::Kernel* CountedPasses::real_ = nullptr;

struct Setting {
  std::size_t size;
  std::size_t payload;
  std::size_t batch = 1;
  bool crc = true;
  bool markers = false;
  double software_copies = 1;

  std::string text() const {
    return std::to_string(batch) + " of " + std::to_string(size) + " octets, FPDUs of " +
           std::to_string(payload) + (crc ? ", CRC" : "") + (markers ? ", markers" : "");
  }
  verbs::ConnectionOptions options() const {
    verbs::ConnectionOptions out;
    out.startup.crc = crc;
    out.startup.markers = markers;
    out.max_ulpdu = payload + static_cast<std::size_t>(kTaggedHeader);
    return out;
  }
};

/// Two connected ends. A send takes all octets of the plan, and a receive finds all octets.
class Stack : sim::Pair {
 public:
  explicit Stack(const Setting& setting)
      : sim::Pair(setting.options(), setting.options()),
        setting_(setting),
        from_(a->memory(kLargest, verbs::Access::kLocalWrite)),
        to_(b->memory(kLargest, verbs::Access::kLocalWrite | verbs::Access::kRemoteWrite)) {
    REQUIRE(establish());
  }

  double position() const { return static_cast<double>(a->connection->counters().octets_sent); }

  /// Returns the work of both ends for one batch of Writes.
  std::array<Work, 2> write() {
    const auto octets = sim::sge(from_, 0, setting_.size);
    for (std::size_t i = 0; i < setting_.batch; ++i) {
      REQUIRE(!a->qp->post_send(
          {.opcode = verbs::WrOpcode::kWrite, .sgl = {&octets, 1}, .remote = sim::remote(to_)}));
    }
    std::vector<std::byte> link;
    const auto tx = measured(*a, true, [&] { return send(link); });
    std::size_t arrived = 0;
    const auto rx = measured(*b, false, [&] {
      const auto n = b->receive(bytes::View(link).subspan(arrived));
      arrived += n;
      return Work{.calls = n == 0 ? 0.0 : 1.0};
    });
    CHECK(arrived == link.size());
    return {tx, rx};
  }

 private:
  /// Sends one plan, as the driver does with one system call.
  Work send(std::vector<std::byte>& link) {
    const auto plan = a->connection->transmit_plan(kIovecs, now);
    if (plan.empty()) return {};
    const Work out{.calls = 1, .pieces = static_cast<double>(plan.size() - 1)};
    std::size_t octets = 0;
    for (const auto piece : plan) {
      link.insert(link.end(), piece.begin(), piece.end());
      octets += piece.size();
    }
    a->connection->transmitted(octets, now);
    return out;
  }

  /// Calls `call` until it makes no more system call. Returns the work that `end` has done.
  template <typename Call>
  Work measured(sim::End& end, bool sends, Call call) {
    const auto before = end.connection->counters();
    crc_passes = 0;
    Work out;
    for (auto one = call(); one.calls != 0; one = call()) {
      out.calls += one.calls;
      out.pieces += one.pieces;
    }
    const auto after = end.connection->counters();
    const auto count = [&](std::uint64_t verbs::Counters::* counter) {
      return static_cast<double>(after.*counter - before.*counter);
    };
    using verbs::Counters;
    out.copied = count(&Counters::octets_copied);
    out.crced = count(&Counters::octets_crced);
    out.crc_passes = crc_passes;
    out.fpdus = count(sends ? &Counters::fpdus_sent : &Counters::fpdus_received);
    out.markers = count(sends ? &Counters::markers_sent : &Counters::markers_received);
    return out;
  }

  Setting setting_;
  verbs::Region* from_;
  verbs::Region* to_;
};

void expect_assumed(const Setting& s) {
  const CountedPasses counted(s.crc ? crc32c::active() : crc32c::kernels().front());
  Stack stack(s);
  // The staging area learns the size of the FPDUs from the first batches.
  for (int i = 0; i < 2; ++i) stack.write();
  const auto batch = static_cast<double>(s.batch);
  const auto position = stack.position();
  const auto work = stack.write();
  const auto assumed = stack_work(free_of_cost(),
                                  {.size = static_cast<double>(s.size),
                                   .crc = s.crc,
                                   .markers = s.markers,
                                   .batch = batch,
                                   .fpdu = static_cast<double>(s.payload),
                                   .software_copies = s.software_copies},
                                  position);
  INFO(s.text());
  for (std::size_t end = 0; end < work.size(); ++end) {
    INFO((end == 0 ? "sender" : "receiver"));
    CHECK(work[end].calls == doctest::Approx(batch * assumed[end].calls));
    CHECK(work[end].pieces == doctest::Approx(batch * assumed[end].pieces));
    CHECK(work[end].copied == doctest::Approx(batch * assumed[end].copied));
    CHECK(work[end].crced == batch * assumed[end].crced);
    CHECK(work[end].fpdus == batch * assumed[end].fpdus);
    CHECK(work[end].markers == batch * assumed[end].markers);
    if (!s.markers || end == 1) CHECK(work[end].crc_passes == batch * assumed[end].crc_passes);
  }
}

constexpr std::array<std::size_t, 8> kSizes{64, 256, 1024, 4096, 16384, 65536, 262144, kLargest};
constexpr std::array<std::size_t, 3> kPayloads{1428, 8192, 32768};

}  // namespace

TEST_CASE("the stack does the work that the model assumes, with CRC") {
  for (const auto size : kSizes) {
    for (const auto payload : kPayloads) expect_assumed({.size = size, .payload = payload});
  }
}

TEST_CASE("the stack does the work that the model assumes, without CRC") {
  for (const auto size : kSizes) {
    expect_assumed({.size = size, .payload = 1428, .crc = false});
    if (size < 512 * 1024) expect_assumed({.size = size, .payload = 8192, .crc = false});
  }
  // Large FPDUs that arrive in part are placed without a copy.
  expect_assumed({.size = kLargest, .payload = 32768, .crc = false, .software_copies = 0});
}

TEST_CASE("the stack does the work that the model assumes, with markers") {
  for (const auto size : kSizes) {
    // Markers make the FPDUs of a message differ in size. So the number of octets that a receive
    // of more than the staging area leaves over depends on the position.
    if (size > 256 * 1024) continue;
    for (const auto payload : kPayloads) {
      expect_assumed({.size = size, .payload = payload, .markers = true});
    }
  }
}

TEST_CASE("the stack does the work that the model assumes, for batches of small messages") {
  for (const std::size_t size : {16U, 64U, 256U, 1024U}) {
    for (const bool crc : {true, false}) {
      expect_assumed({.size = size, .payload = 1428, .batch = 16, .crc = crc});
    }
  }
}
