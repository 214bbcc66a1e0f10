// SPDX-License-Identifier: Apache-2.0
// Tests throughput and what limits it, latency, and crossovers, which may also be "never" or
// "always".
#include "iwarp/offload_model/performance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "support.hpp"

using namespace iwarp::offload_model;
using doctest::Approx;
using enum Crossover::Kind;

namespace {

const Workload kCached{.size = 65536, .advertise = 1e9, .hit_rate = 1};

Crossover cpu_crossover(const Parameters& p, const Workload& w, Mode other = Mode::kSockets) {
  return crossover_of(cheaper(Mode::kRnic, other, w), p);
}

Crossover latency_crossover(const Parameters& p, const Workload& w, double registrations) {
  return crossover_of(sooner(Mode::kSockets, w, true, registrations), p);
}

double from(const Crossover& crossover) {
  REQUIRE(crossover.kind == kFrom);
  return crossover.octets;
}

}  // namespace

TEST_CASE("the link limits a host on which nothing costs anything") {
  const auto p = free_of_cost();
  const auto t = throughput(Mode::kSockets, p, {.size = 1448}, 1);
  CHECK(t.limit == "link");
  CHECK(t.gbps == Approx(8 * 1448.0 / 1538));
}

TEST_CASE("each resource in turn is the limit") {
  auto p = free_of_cost();
  p.copy_rx = 8;  // Copies one bit per nanosecond.
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 1).gbps == Approx(1));
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 2).gbps == Approx(2));
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 1).limit == "receiver's processor");
  p.copy_tx = 16;
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 1).limit == "sender's processor");
  p = only({.memory_bus = 1});
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 1).gbps == Approx(8.0 / 3));
  CHECK(throughput(Mode::kSoftware, p, {.size = 65536}, 1).gbps == Approx(8.0 / 5));
  CHECK(throughput(Mode::kRnic, p, {.size = 65536}, 1).limit == "link");
  p = only({.nic_rate = 2});
  CHECK(throughput(Mode::kRnic, p, {.size = 65536}, 1).limit == "card");
  CHECK(throughput(Mode::kRnic, p, {.size = 65536}, 1).gbps == Approx(2));
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 1).limit == "link");
  p = only({.pcie_generation = 1, .pcie_lanes = 1});  // 2 Gb/s less headers and acknowledgements
  const auto bus = throughput(Mode::kRnic, p, {.size = 65536}, 1);
  CHECK(bus.limit == "PCI Express");
  CHECK(bus.gbps == Approx(1.75).epsilon(0.03));
}

TEST_CASE("the octets on the memory bus are those of DMA and of each copy, at each end") {
  const auto p = free_of_cost();
  const auto expect = [&p](Mode mode, const Workload& w, double tx, double rx) {
    const auto bus = bus_octets(mode, p, w);
    CHECK(bus.tx == tx);
    CHECK(bus.rx == rx);
  };
  // Kernel sockets copy once at each end: 65536 octets by DMA, 65536 read and 65536 written.
  expect(Mode::kSockets, {.size = 65536}, 196608, 196608);
  // Software iWARP copies the payload beside its headers to compute the CRC, and from the staging
  // area to its destination: 131072 more at each end.
  const Workload software{.size = 65536, .fpdu = 8192};
  expect(Mode::kSoftware, software, 327680, 327680);
  // Without CRC the sender sends large FPDUs from the buffer of the application.
  auto direct = software;
  direct.crc = false;
  expect(Mode::kSoftware, direct, 196608, 327680);
  // If the receiver places directly, it copies the 12 octets that it read with each of 8 headers.
  direct.software_copies = 0;
  expect(Mode::kSoftware, direct, 196608, 196608 + 2 * 8 * 12);
  // The sender's copy limits a receiver that does not copy.
  auto slow = p;
  slow.memory_bus = 1;
  direct.crc = true;
  CHECK(throughput(Mode::kSoftware, slow, direct, 1).limit == "memory bus");
  CHECK(throughput(Mode::kSoftware, slow, direct, 1).gbps == Approx(8.0 / 5));
  expect(Mode::kTls, {.size = 65536}, 327680, 196608);  // a cipher reads and writes, too
  expect(Mode::kZeroCopySend, {.size = 65536}, 65536, 196608);
  expect(Mode::kZeroCopyReceive, {.size = 65536}, 196608, 65536);
  expect(Mode::kToe, {.size = 65536}, 196608, 196608);
  expect(Mode::kToe, {.size = 65536, .toe_copies = 0}, 65536, 65536);
  expect(Mode::kRnic, {.size = 65536}, 65536, 65536);
}

TEST_CASE("a lone message of software iWARP waits for all work that its cost contains") {
  const auto own = only({.gso = 65536,
                         .gro = 65536,
                         .copy_llc = 1,
                         .copy_crc = 2.5,
                         .crc = 2,
                         .fpdu = 100,
                         .marker = 10,
                         .post = 30});
  const auto idle = only({.gso = 65536, .gro = 65536});
  for (const bool crc : {true, false}) {
    for (const double size : {64.0, 4096.0, 32768.0}) {
      const Workload w{.size = size, .sleeps = 0, .crc = crc, .markers = true, .fpdu = 1400};
      const auto added = latency_ns(Mode::kSoftware, own, w) - latency_ns(Mode::kSoftware, idle, w);
      CHECK(added == Approx(message_cost(Mode::kSoftware, own, w).total()));
    }
  }
}

TEST_CASE("the program's own work counts towards the limit of the processors, not of the card") {
  const auto p = only({.copy_rx = 4});
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 1, 4).gbps == Approx(1));
  CHECK(throughput(Mode::kSockets, p, {.size = 65536}, 2, 4).gbps == Approx(2));
  CHECK(throughput(Mode::kRnic, p, {.size = 65536}, 1, 0.1).limit == "link");
}

TEST_CASE("if a program works gamma times as long as it communicates, the gain is below 1/gamma") {
  const auto p = preset_parameters("100g");
  const Workload w{.size = 65536, .hit_rate = 1};
  const auto communication = message_cost(Mode::kSockets, p, w).rx.total() / w.size;
  for (const double gamma : {0.1, 1.0, 10.0}) {
    const auto gbps = [&](Mode mode) {
      return throughput(mode, p, w, 1, gamma * communication).gbps;
    };
    CHECK(gbps(Mode::kRnic) > gbps(Mode::kSockets));
    CHECK(gbps(Mode::kRnic) / gbps(Mode::kSockets) - 1 < 1 / gamma);
  }
}

TEST_CASE("one message in flight is limited by the round trip, many are not") {
  for (const auto& name : preset_names()) {
    const auto p = preset_parameters(name.c_str());
    for (const auto mode : kModes) {
      CAPTURE(name);
      const Workload one{.size = 4096, .hit_rate = 1, .depth = 1};
      const auto slow = throughput(mode, p, one, 1);
      CHECK(slow.limit == "number of messages in flight");
      CHECK(slow.gbps < 4096 * 8 / latency_ns(mode, p, one));
      CHECK(throughput(mode, p, {.size = 4096, .hit_rate = 1, .depth = 1e6}, 1).gbps ==
            throughput(mode, p, {.size = 4096, .hit_rate = 1}, 1).gbps);
    }
  }
}

TEST_CASE("load is proportional to the rate") {
  const auto p = only({.copy_tx = 1, .copy_rx = 2});
  const auto load = load_at(Mode::kSockets, p, {.size = 4096}, 4);
  CHECK(load.tx == Approx(0.5));
  CHECK(load.rx == Approx(1));
}

TEST_CASE("a queue obeys Little's law, and has the closed forms for one server and two") {
  constexpr double kService = 1000;
  for (const double load : {0.001, 0.2, 0.5, 0.8, 0.95, 0.999}) {
    CAPTURE(load);
    const auto one = queue_of(load, 1, kService);
    CHECK(one.mean_ns == Approx(kService * load / (1 - load)));
    CHECK(one.p99_ns == Approx(std::max(0.0, std::log(100 * load)) * kService / (1 - load)));
    const auto two = queue_of(load, 2, kService);
    CHECK(two.mean_ns == Approx(kService * load * load / (1 - load * load)));
    double before = INFINITY;
    for (const double servers : {1.0, 2.0, 7.0, 64.0, 4096.0}) {
      const auto queue = queue_of(load, servers, kService);
      CHECK(queue.waiting == Approx(load * servers / kService * queue.mean_ns));
      CHECK(queue.mean_ns <= before);
      CHECK(queue_of(load / 2, servers, kService).p99_ns <= queue.p99_ns);
      before = queue.mean_ns;
    }
  }
  CHECK(queue_of(0, 4, kService).p99_ns == 0);
  CHECK(std::isinf(queue_of(1, 4, kService).p99_ns));
}

TEST_CASE("under load, a message waits for what limits throughput, and polling burns processors") {
  const auto p = only({.copy_rx = 8});
  const Workload w{.size = 65536};
  const auto most = throughput(Mode::kSockets, p, w, 2);
  const auto at = [&](Mode mode, const Workload& workload, double gbps) {
    return loaded_at(mode, p, workload, throughput(mode, p, workload, 2), 2, gbps);
  };
  CHECK(at(Mode::kSockets, w, 0).wait_ns == 0);
  CHECK(at(Mode::kSockets, w, 0).cores == 0);
  const auto half = at(Mode::kSockets, w, most.gbps / 2);
  CHECK(half.busy == Approx(0.5));
  CHECK(half.cores == Approx(1));
  CHECK(half.wait_ns == Approx(queue_of(0.5, 2, 8 * w.size).p99_ns));
  CHECK(half.memory == Approx(most.gbps / 2 / (1000 * 8.0 / 3)));
  CHECK(std::isinf(at(Mode::kSockets, w, most.gbps).wait_ns));
  CHECK(at(Mode::kRnic, w, 0).cores == 2);
  CHECK(at(Mode::kRnic, {.events = true}, 0).cores == 0);
}

TEST_CASE("latency adds only the slowest stage for each octet, not all stages") {
  auto p = free_of_cost();
  p.copy_tx = p.copy_rx = 4;  // Copying is slower than the link.
  const auto one = latency_ns(Mode::kSockets, p, {.size = 1448});
  const auto two = latency_ns(Mode::kSockets, p, {.size = 2896});
  CHECK(two - one == Approx(1448 * 4));
}

TEST_CASE("a small message pays for the card twice, once at each end") {
  const auto p = only({.nic_latency = 1000});
  const auto free = latency_ns(Mode::kRnic, free_of_cost(), {.size = 1});
  CHECK(latency_ns(Mode::kRnic, p, {.size = 1}) == Approx(2000 + free));
  CHECK(latency_ns(Mode::kRnic, p, {.size = 1}, true) > 4000);
}

TEST_CASE("crossovers that do not exist are reported as kNever or kAlways") {
  auto p = only({.post = 1});
  CHECK(cpu_crossover(p, {}).kind == kNever);  // Sockets cost nothing.
  p.syscall_tx = 10;
  CHECK(cpu_crossover(p, {}).kind == kAlways);
  CHECK(from(crossover_of([](const auto&, double n) { return n >= 12345; }, p)) == 12345);
}

TEST_CASE("if registering costs more per octet than sockets do, it never pays") {
  const auto p =
      only({.copy_tx = 0.01, .copy_rx = 0.01, .register_fixed = 1000, .register_page = 4096});
  CHECK(cpu_crossover(p, {}).kind == kNever);
  CHECK_FALSE(reuse_needed(free_of_cost(), {}).has_value());
}

TEST_CASE("registering each time moved the crossover up from the preset 2003 to 100G") {
  const auto crossover = [](const char* name) {
    return from(cpu_crossover(preset_parameters(name), Workload{}));
  };
  // The expected crossovers are 11, 18 and 240 KB, each within a factor of two.
  CHECK(crossover("2003") > 5.5e3);
  CHECK(crossover("2003") < 22e3);
  CHECK(crossover("2007") > 9e3);
  CHECK(crossover("2007") < 36e3);
  CHECK(crossover("100g") > 120e3);
  CHECK(crossover("100g") < 480e3);
}

TEST_CASE("with a cached registration the RNIC is always cheaper") {
  for (const auto& name : preset_names()) {
    CHECK(cpu_crossover(preset_parameters(name.c_str()), kCached).kind == kAlways);
  }
}

TEST_CASE("an RNIC is better above its crossover, and nowhere below the first crossover") {
  for (const auto& name : preset_names()) {
    const auto p = preset_parameters(name.c_str());
    for (const auto& better :
         {cheaper(Mode::kRnic, Mode::kSockets, {}), cheaper(Mode::kRnic, Mode::kToe, {}),
          sooner(Mode::kSockets, {}, true, 1)}) {
      const auto crossover = crossover_of(better, p);
      if (crossover.kind != kFrom) continue;
      INFO(name, ", octets ", crossover.octets);
      CHECK(better(p, crossover.first));
      CHECK_FALSE(better(p, crossover.octets - 1));
      double worse_above = 0;
      for (auto n = crossover.octets; n < 4 * crossover.octets; ++n) worse_above += !better(p, n);
      CHECK(worse_above == 0);
      double better_below = 0;
      for (double n = 1; n < crossover.first; ++n) better_below += better(p, n);
      CHECK(better_below == 0);
    }
  }
}

TEST_CASE("a step that undoes the advantage again moves the crossover past it") {
  const auto p = free_of_cost();  // Pages have 4096 octets.
  const auto better = [](const Parameters&, double n) {
    return n >= 5000 && (n <= 8192 || n >= 8200) && n != 65537;
  };
  const auto crossover = crossover_of(better, p);
  CHECK(crossover.first == 5000);
  CHECK(from(crossover) == 65538);
}

TEST_CASE("after u* reuses a registration has paid for itself") {
  for (const auto& name : preset_names()) {
    CAPTURE(name);
    const auto p = preset_parameters(name.c_str());
    Workload w{.size = 4096, .advertise = 1e9};
    const auto needed = reuse_needed(p, w).value();
    CHECK(needed > 1);
    w.reuse = needed;
    CHECK(message_cost(Mode::kRnic, p, w).total() ==
          Approx(message_cost(Mode::kSockets, p, w).total()));
  }
}

TEST_CASE("registration on the critical path moves the latency crossover up") {
  const auto p = preset_parameters("2007");
  const Workload w;
  const auto cached = crossover_of(sooner(Mode::kSockets, kCached, false, 0), p);
  CHECK(cached.kind == kAlways);
  CHECK(from(latency_crossover(p, w, 2)) > from(latency_crossover(p, w, 1)));
}

TEST_CASE("the crossover of an RNIC with a TOE is above the one with sockets, or does not exist") {
  for (const auto& name : preset_names()) {
    CAPTURE(name);
    const auto p = preset_parameters(name.c_str());
    const Workload each;
    const auto toe = from(cpu_crossover(p, each, Mode::kToe));
    CHECK(toe > from(cpu_crossover(p, each)));
    auto w = each;
    w.size = toe;
    CHECK(message_cost(Mode::kRnic, p, w).total() < message_cost(Mode::kToe, p, w).total());
    w.size = toe - 1;
    CHECK(message_cost(Mode::kRnic, p, w).total() >= message_cost(Mode::kToe, p, w).total());
    CHECK(cpu_crossover(p, kCached, Mode::kToe).kind == kAlways);
  }
}
