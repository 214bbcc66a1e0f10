// SPDX-License-Identifier: Apache-2.0
// Tests the fit and the judgement with synthetic runs that are generated from known costs. The fit
// must recover the costs and keep them above zero. The judgement must pass if iWARP costs what the
// model predicts, and fail otherwise. Also tests that the ledger of a run counts each event once.
#include "iwarp/offload_model/judge.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "iwarp/offload_model/fit.hpp"
#include "iwarp/offload_model/record.hpp"
#include "support.hpp"

using namespace iwarp::offload_model;
using doctest::Approx;

namespace {

// Costs in ns, in this order: send, receive, piece, octet, context switch.
constexpr SocketCosts kTrue{300, 500, 4000, 0.2, 1000};

/// A run that costs exactly what kTrue implies, times `factor`.
Record run(const char* mode, std::uint64_t size, std::uint64_t read, double factor = 1) {
  Record out;
  out.mode = mode;
  out.crc = "off";
  out.size = size;
  out.read = read;
  out.messages = 10'000;
  auto& tx = out.tx.counters;
  tx.send_calls = out.messages;
  tx.octets_sent = out.messages * size;
  auto& rx = out.rx.counters;
  rx.octets_received = tx.octets_sent;
  rx.receive_calls = std::max<std::uint64_t>(1, tx.octets_sent / read) + 1400;
  const auto segments = tx.octets_sent / 65483 + 3300;
  out.tx.segments_sent = static_cast<double>(segments);
  out.rx.segments_received = out.tx.segments_sent;
  out.tx.switches = 900;
  out.tx.cpu_ns = factor * predict(kTrue, observation_of(out));
  return out;
}

std::vector<Record> runs(double factor, double noise = 0) {
  std::vector<Record> out;
  for (const double luck : {1.0, 1 + noise, 1 - noise}) {
    for (const std::uint64_t size : {64U, 1024U, 16384U, 65536U, 1048576U}) {
      for (const std::uint64_t read : {4096U, 262144U}) {
        out.push_back(run("sockets", size, read, luck));
      }
      out.push_back(run("iwarp", size, 262144, factor * luck));
    }
  }
  return out;
}

Machine machine() {
  Machine out{.host = free_of_cost(), .passes = {}};
  out.host.copy_llc = 0.02;
  return out;
}

std::vector<Observation> made_of(double call, double octet) {
  std::vector<Observation> out;
  for (double size = 64; size <= 1 << 20; size *= 4) {
    for (const double messages : {100.0, 1000.0}) {
      out.push_back({{messages, messages * size}, messages * (call + size * octet)});
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the fit recovers the costs of sockets, and predicts a size left out if the law holds") {
  auto sockets = std::vector<Record>{run("sockets", 64, 4096), run("sockets", 4096, 4096),
                                     run("sockets", 65536, 262144), run("sockets", 65536, 2048),
                                     run("sockets", 1048576, 8192)};
  const auto costs = fit_sockets(sockets, free_of_cost());
  for (const auto& record : sockets) {
    CHECK(predict(costs, observation_of(record)) == Approx(record.cpu_ns()).epsilon(0.01));
  }
  CHECK(leave_one_size_out(sockets, free_of_cost()).mean < 0.2);
  const auto host = with_sockets(free_of_cost(), costs);
  CHECK(host.copy_tx + host.copy_rx == Approx(costs[3]));
  CHECK(host.segment_tx == host.segment_rx);
  sockets.back().tx.cpu_ns *= 4;
  CHECK(leave_one_size_out(sockets, free_of_cost()).max > 0.3);
}

TEST_CASE("iWARP runs whose cost matches the prediction pass, and others fail") {
  const auto good = judge(runs(1), machine()).value();
  CHECK(good.points.size() == 5);
  CHECK(good.fitted.size() == 10);
  CHECK(good.holds());
  CHECK_FALSE(good.noise_limited());
  const auto bad = judge(runs(1.5), machine()).value();
  CHECK_FALSE(bad.holds());
}

TEST_CASE("the kernel copies large buffers of the application at the cost of far memory") {
  auto far = machine();
  far.passes["off"] = {PassCosts{.copy = 0.02}, PassCosts{.copy = 0.07}};
  for (const std::string cpus : {"same", "other"}) {
    CAPTURE(cpus);
    auto all = runs(1);
    for (auto& each : all) {
      each.cpus = cpus;
      if (each.size != 1 << 20) continue;
      const bool iwarp = each.mode == "iwarp";
      // A processor touches the buffers of one end and of TCP, 2 MiB, or those of both ends. The
      // working sets are 1 MiB and 4 MiB.
      const auto mebi = cpus == "other" ? 2
                        : iwarp         ? 3
                                        : 2 + static_cast<double>(each.read) / (1 << 20);
      const auto ends = iwarp ? 2 : 1;  // the receiver of sockets has a small buffer
      each.rx.cpu_ns =
          0.05 * std::log(mebi) / std::log(4) * ends * static_cast<double>(each.messages << 20);
      if (iwarp) each.read = 0;
    }
    const auto good = judge(all, far).value();
    CHECK(good.left_out.max < 0.01);
    CHECK(good.errors.max < 0.01);
    const auto near = judge(all, machine()).value();
    CHECK(near.errors.max > 0.1);
    // Octets that the stack has copied come from buffers of the stack, at the cost of its passes:
    // 0.07 for 4 MiB, and 0.053 for 2.5 MiB.
    for (auto& each : all) {
      if (each.mode != "iwarp" || each.size != 1 << 20) continue;
      each.tx.counters.octets_copied = each.tx.counters.octets_sent;
      each.rx.counters.octets_copied = each.rx.counters.octets_received;
      const auto pass = cpus == "same" ? 0.07 : 0.02 + 0.05 * std::log(2.5) / std::log(4);
      each.rx.cpu_ns = pass * 2 * static_cast<double>(each.messages << 20);
    }
    const auto copied = judge(all, far).value();
    CHECK(copied.errors.max < 0.01);
  }
}

TEST_CASE("identical runs whose costs differ much are reported as noise") {
  const auto noisy = judge(runs(1, 0.3), machine()).value();
  CHECK(noisy.noise_limited());
}

TEST_CASE("without sockets of several sizes, or without iWARP, no judgement is made") {
  CHECK_FALSE(judge({}, machine()).has_value());
  CHECK_FALSE(judge({run("iwarp", 64, 64)}, machine()).has_value());
  CHECK_FALSE(judge({run("sockets", 64, 64), run("sockets", 128, 64)}, machine()).has_value());
}

TEST_CASE("the median of several equal runs represents them, with its own counts") {
  auto all = std::vector{run("sockets", 64, 64, 3), run("sockets", 64, 64, 1),
                         run("sockets", 64, 64, 2), run("sockets", 128, 64, 9)};
  all[2].seconds = 7;
  const auto kinds = medians(all);
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].seconds == 7);
}

TEST_CASE("the share of copying is computed from the runs with the largest receive calls") {
  const auto host = only({.copy_tx = 0.1, .copy_rx = 0.1, .copy_llc = 0.01});
  const auto shares = measured_shares(host, {run("sockets", 65536, 2048, 100),
                                             run("sockets", 65536, 262144), run("iwarp", 64, 64)});
  REQUIRE(shares.size() == 1);
  CHECK(shares[0].size == 65536);
  CHECK(shares[0].low > 0.01);
  CHECK(shares[0].low < shares[0].high);
  CHECK(shares[0].high < 1);
}

TEST_CASE("median and quartiles") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(sample_of({1, 2, 3, 4, 5}).value == 3);
  CHECK(sample_of({1, 2, 3, 4, 5}).spread == Approx(2.0 / 3));
  CHECK(sample_of({0, 0, 0}).spread == 0);
}

TEST_CASE("the fit recovers the costs") {
  const auto costs = fit_costs(made_of(350, 0.2));
  REQUIRE(costs.size() == 2);
  CHECK(costs[0] == Approx(350));
  CHECK(costs[1] == Approx(0.2));
}

TEST_CASE("no cost is below zero, even if a negative cost would fit better") {
  auto data = made_of(350, 0.2);
  for (auto& o : data) o.counts.push_back(o.counts[1]);
  for (auto& o : data) o.cost -= 0.1 * o.counts[0];
  for (const auto cost : fit_costs(data)) CHECK(cost >= 0);
}

TEST_CASE("fit_costs() gives 0 for an event without occurrences, nothing without observations") {
  auto data = made_of(350, 0.2);
  for (auto& o : data) o.counts.push_back(0);
  CHECK(fit_costs(data)[2] == 0);
  CHECK(fit_costs({}).empty());
}

TEST_CASE("mean, 90th percentile and maximum of the errors") {
  const auto s = summarise({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0});
  CHECK(s.mean == Approx(0.55));
  CHECK(s.p90 == Approx(0.9));
  CHECK(s.max == Approx(1.0));
  CHECK(summarise({}).mean == 0);
}

TEST_CASE("the ledger of a run: each count times its cost, in the right component") {
  auto p = free_of_cost();
  Observed run;
  auto& c = run.counters;
  c.octets_sent = 1000;
  c.octets_received = 100;
  c.octets_copied = 10;
  c.octets_crced = 500;
  c.send_calls = 3;
  c.receive_calls = 2;
  c.wait_calls = 1;
  c.fpdus_sent = 4;
  c.fpdus_received = 5;
  c.markers_sent = 6;
  c.completions = 7;
  run.segments_sent = 2;
  run.switches = 9;
  CHECK(account(p, run).total() == 0);
  p.copy_tx = 1;
  p.copy_rx = 2;
  p.copy_llc = 3;
  p.copy_crc = 7;
  p.crc = 4;
  p.syscall_tx = 5;
  p.syscall_rx = 6;
  p.segment_tx = p.small_segment_tx = 7;
  p.fpdu = 8;
  p.iovec = 1;
  p.marker = 9;
  p.wakeup = 10;
  p.post = 11;
  const auto ledger = account(p, run);
  CHECK(ledger[Component::kCopy] == 1000 + 200 + 30);
  CHECK(ledger[Component::kChecksum] == 2000);
  CHECK(ledger[Component::kSyscall] == 15 + 18);
  CHECK(ledger[Component::kProtocol] == 14 + 4 * 10 + 5 * 8 + 54);
  CHECK(ledger[Component::kWakeup] == 90);
  CHECK(ledger[Component::kPost] == 77);
}

TEST_CASE("pieces: one per call, more if a call transfers more than one, none for zero octets") {
  CHECK(segments_of(1000, 10, 65536) == 10);
  CHECK(segments_of(1 << 20, 4, 65536) == 16);
  CHECK(segments_of(0, 3, 65536) == 0);
}
