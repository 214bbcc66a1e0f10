// SPDX-License-Identifier: Apache-2.0
// Tests the caches and ceilings of an RNIC: what fits costs nothing, what does not is read over PCI
// Express, and where that begins to lower the throughput.
#include "iwarp/offload_model/adapter.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "iwarp/offload_model/performance.hpp"
#include "support.hpp"

namespace iwarp::offload_model {
namespace {

using doctest::Approx;

constexpr double kUnlimited = 1e12;

/// A card whose engine processes 100 messages per microsecond in 20 units.
Parameters card() {
  return only({.link = kUnlimited,
               .nic_message = 10,
               .nic_rate = kUnlimited,
               .memory_bus = kUnlimited,
               .nic_queue_pair = 200,
               .pcie_read = 400,
               .context_cache = 100,
               .context_size = 512,
               .region_cache = 50,
               .translation_cache = 1000,
               .request_cache = 200});
}

Throughput rnic(const Parameters& p, const Workload& w) {
  return throughput(Mode::kRnic, p, w, kUnlimited);
}

double messages_per_us(const Parameters& p, const Workload& w) {
  return rnic(p, w).gbps / (w.size * 8) * 1000;
}

TEST_CASE("a cache misses what does not fit, and a cache of no entries is not modelled") {
  const auto p = card();
  CHECK(cache_misses(p, {.qps = 100, .regions = 50, .memory = 4096000}).at_either_end() == 0);
  CHECK(cache_misses(p, {.qps = 400}).context == Approx(0.75));
  CHECK(cache_misses(p, {.qps = 400, .burst = 3}).context == Approx(0.25));
  CHECK(cache_misses(p, {.regions = 200}).region == Approx(0.75));
  CHECK(cache_misses(p, {.memory = 8192000}).translation == Approx(0.5));
  CHECK(cache_misses(p, {.depth = 4, .qps = 100}).request == Approx(0.5));
  CHECK(cache_misses(p, {.qps = 100}).request == 0);
  const auto none =
      cache_misses(free_of_cost(), {.depth = 9, .qps = 1e6, .regions = 1e6, .memory = 1e12});
  CHECK(none.at_either_end() + none.request == 0);
}

TEST_CASE("requests of one list miss the state of their queue pair once") {
  auto p = card();
  p.doorbell_batch = 5;
  CHECK(cache_misses(p, {.qps = 400}).context == Approx(0.15));
  CHECK(cache_misses(p, {.qps = 400, .burst = 10}).context == Approx(0.075));
}

TEST_CASE("queue pairs add up to the rate of the card") {
  const auto p = card();
  CHECK(messages_per_us(p, {.size = 64, .qps = 1}) == Approx(5));
  CHECK(rnic(p, {.size = 64, .qps = 1}).limit == "queue pair");
  CHECK(messages_per_us(p, {.size = 64, .qps = 10}) == Approx(50));
  CHECK(messages_per_us(p, {.size = 64, .qps = 100}) == Approx(100));
  CHECK(rnic(p, {.size = 64, .qps = 100}).limit == "card");
}

TEST_CASE("each miss keeps one unit waiting for a read") {
  const auto p = card();
  // 0.75 misses of 400 ns in 20 units add 15 ns to 10 ns.
  for (const Workload& w :
       {Workload{.size = 64, .qps = 400}, Workload{.size = 64, .qps = 50, .regions = 200},
        Workload{.size = 64, .qps = 50, .memory = 16384000}}) {
    CHECK(messages_per_us(p, w) == Approx(40));
    CHECK(rnic(p, w).limit == most_missed(cache_misses(p, w)));
  }
  CHECK(rnic(p, {.size = 64, .qps = 400}).limit == "context cache");
  CHECK(rnic(p, {.size = 64, .qps = 50, .regions = 200}).limit == "region cache");
  CHECK(rnic(p, {.size = 64, .qps = 50, .memory = 16384000}).limit == "translation cache");
  CHECK(rnic(p, {.size = 64, .depth = 16, .qps = 50}).limit == "request cache");
  // Sockets and a TOE have none of these caches.
  for (const auto mode : {Mode::kSockets, Mode::kToe}) {
    CHECK(throughput(mode, p, {.size = 64, .qps = 400}, 1).gbps ==
          throughput(mode, p, {.size = 64}, 1).gbps);
  }
}

TEST_CASE("the state of a queue pair is read and written back, an entry is read") {
  const PcieLink link;
  const auto state = miss_traffic(link, {.context = 1}, 512);
  CHECK(state.to_card == card_reads(link, 512).to_card);
  CHECK(state.to_host == card_reads(link, 512).to_host + card_writes(link, 512).to_host);
  for (const auto& one :
       {CacheMisses{.region = 1}, CacheMisses{.translation = 1}, CacheMisses{.request = 1}}) {
    const auto entry = miss_traffic(link, one, 512);
    CHECK(entry.to_card == card_reads(link, 64).to_card);
    CHECK(entry.to_host == card_reads(link, 64).to_host);
  }
}

TEST_CASE("a miss delays a message at both ends, and a missed request at one") {
  const auto p = card();
  const auto latency = [&](const Workload& w) { return latency_ns(Mode::kRnic, p, w); };
  const auto hit = latency({.size = 64});
  CHECK(latency({.size = 64, .qps = 400}) == Approx(hit + 2 * 0.75 * 400));
  CHECK(latency({.size = 64, .depth = 400}) == Approx(hit + 0.5 * 400));
}

TEST_CASE("a cliff is the first number with less than a share of the peak") {
  const auto rate = [](double n) { return n <= 1000 ? std::min(n, 50.0) : 50 * 1000 / n; };
  CHECK(cliff_of(rate, 0.5, 1e6) == 2001);
  CHECK(cliff_of(rate, 0.9, 1e6) == 1112);
  CHECK(std::isinf(cliff_of(rate, 0.5, 1500)));
  CHECK(std::isinf(cliff_of([](double n) { return n; }, 0.9, 1e6)));
}

TEST_CASE("a Read asks first, its initiator pays, and an atomic is a small Read") {
  auto p = card();
  p.post = 1;
  p.completion = 2;
  p.nic_latency = 100;
  const auto of = [&](Verb verb) {
    return message_cost(Mode::kRnic, p, {.size = 8, .verb = verb});
  };
  CHECK(of(Verb::kRead).rx.total() == of(Verb::kWrite).tx.total());
  CHECK(of(Verb::kRead).tx.total() == of(Verb::kWrite).rx.total());
  CHECK(of(Verb::kAtomic).total() == of(Verb::kRead).total());
  CHECK(of(Verb::kSend).rx.total() == of(Verb::kWrite).rx.total() + 3);
  const auto latency = [&](Verb verb) {
    return latency_ns(Mode::kRnic, p, {.size = 8, .verb = verb});
  };
  CHECK(latency(Verb::kRead) == Approx(latency(Verb::kWrite) + 200).epsilon(0.001));
  // One message in flight: the payload of a Read is the answer.
  const auto rate = [&](Verb verb) {
    return messages_per_us(p, {.size = 8, .hit_rate = 1, .depth = 1, .verb = verb});
  };
  CHECK(rate(Verb::kRead) == Approx(1000 / (latency(Verb::kRead) + latency(Verb::kSend))));
}

TEST_CASE("a page fault costs an interrupt and the mapping, over the transfers that reuse it") {
  const auto p =
      only({.interrupt = 100, .register_fixed = 1000, .register_page = 10, .page_fault = 5000});
  const Workload w{.size = 8192, .reuse = 4, .on_demand = true};
  CHECK(message_cost(Mode::kRnic, p, w).total() == Approx(2 * (100 + 2 * 10) / 4.0));
  CHECK(latency_ns(Mode::kRnic, p, w, false, 1) - latency_ns(Mode::kRnic, p, w) == Approx(1250));
}

}  // namespace
}  // namespace iwarp::offload_model
