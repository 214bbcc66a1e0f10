// SPDX-License-Identifier: Apache-2.0
// Tests that the fit recovers the costs that generated the data and keeps them above zero. Also
// tests that the ledger of a run counts each event once.
#include "iwarp/offload_model/fit.hpp"

#include <doctest/doctest.h>

#include "iwarp/offload_model/record.hpp"
#include "support.hpp"

using namespace iwarp::offload_model;
using doctest::Approx;

namespace {

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

TEST_CASE("an event that never occurred costs nothing; without observations there is no fit") {
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
