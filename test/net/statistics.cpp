// SPDX-License-Identifier: Apache-2.0
// Tests the operator's statistics about setups, Terminates, held streams and pinned memory. The
// counts must match what happened.
#include "iwarp/net/statistics.hpp"

#include <numeric>

#include "iwarp/net/channel_port.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

std::uint64_t all_failed(const SetupStatistics& side) {
  return std::accumulate(side.failed.begin(), side.failed.end(), std::uint64_t{0});
}

/// Checks that one setup failed for reason `why`, and that no setup is in progress.
void check_failed(const SetupStatistics& side, SetupFailure why) {
  CHECK_EQ(failed_by(side, why), 1);
  CHECK_EQ(all_failed(side), 1);
  CHECK_EQ(side.begun, side.established + 1);
}

TerminateCount count_of(const Statistics& s, const bytes::Fault& fault) {
  for (const auto& one : s.terminates) {
    if (one.fault == fault) return one;
  }
  return {};
}

}  // namespace

TEST_CASE("a connection is counted at both ends, and listed while it is open") {
  Established pair;
  pair.a.perform(WrOpcode::kWrite, 0, 5000, pair.b.remote(0));
  const auto open = pair.rnic->statistics();
  CHECK_EQ(open.active.begun, 1);
  CHECK_EQ(open.active.established, 1);
  CHECK_EQ(open.passive.established, 1);
  CHECK_EQ(open.open_connections, 2);
  CHECK_EQ(open.pending_setups, 0);
  CHECK_EQ(open.qps, 2);
  CHECK_EQ(open.cqs, 2);
  REQUIRE_EQ(open.connections.size(), 2);
  CHECK(open.connections[0].qp < open.connections[1].qp);
  const auto& out = open.connections[0].is_outgoing ? open.connections[0] : open.connections[1];
  CHECK_EQ(out.qp, pair.a.qp->num());
  CHECK_EQ(out.peer, pair.listener->local());
  CHECK_GT(out.counters.octets_sent, 5000);
  CHECK_EQ(pair.rnic->statistics(1).connections.size(), 1);
  CHECK_EQ(pair.rnic->statistics(1).open_connections, 2);

  REQUIRE_FALSE(pair.a.qp->disconnect());
  pair.expect_disconnected();
  REQUIRE(comes_true([&] { return pair.rnic->statistics().open_connections == 0; }));
  const auto over = pair.rnic->statistics();
  CHECK(over.connections.empty());
  CHECK_GE(over.counters.octets_sent, out.counters.octets_sent);
  CHECK_EQ(all_failed(over.active) + all_failed(over.passive), 0);
}

TEST_CASE("a failed set-up has a reason: unreachable, rejected, abandoned, reset") {
  Pair pair;
  std::uint16_t closed = 0;
  {
    RawListener gone;
    closed = gone.address().port;
  }
  pair.start({}, {"127.0.0.1", closed});
  expect(*pair.a.cm, Type::kConnectFailed);
  check_failed(pair.rnic->statistics().active, SetupFailure::kUnreachable);
  pair.start();
  REQUIRE_FALSE(expect(*pair.b.cm, Type::kConnectRequest).request->reject());
  expect(*pair.a.cm, Type::kRejected);
  CHECK_EQ(failed_by(pair.rnic->statistics().active, SetupFailure::kRejected), 1);
  CHECK_EQ(failed_by(pair.rnic->statistics().passive, SetupFailure::kRejected), 1);
  pair.start({.fall_back_to_revision_1 = false});
  expect(*pair.b.cm, Type::kConnectRequest).request->drop();
  expect(*pair.a.cm, Type::kConnectFailed);
  const auto now = pair.rnic->statistics();
  CHECK_EQ(failed_by(now.passive, SetupFailure::kAbandoned), 1);
  CHECK_EQ(failed_by(now.active, SetupFailure::kReset), 1);
  CHECK_EQ(now.active.begun, 3);
  CHECK_EQ(now.passive.begun, 2);
}

TEST_CASE(
    "silent peers and peers that do not speak MPA are disconnected and counted separately, and the "
    "listener continues [MPA-66] [MPA-99] [MPA-111]") {
  ListenOptions with_short_limits;
  with_short_limits.connection.startup.timeout = 20ms;
  Pair pair(with_short_limits);
  auto silent = RawPeer::connect(pair.listener->local().port);
  silent.wait_for_end();
  CHECK_FALSE(pair.b.cm->poll().has_value());
  REQUIRE(comes_true([&] { return all_failed(pair.rnic->statistics().passive) == 1; }));
  check_failed(pair.rnic->statistics().passive, SetupFailure::kTimedOut);
  CHECK_EQ(pair.rnic->statistics().pending_setups, 0);

  Pair patient;
  auto garbage = RawPeer::connect(patient.listener->local().port);
  garbage.send(octets("GET / HTTP/1.0\r\n\r\n"));
  garbage.wait_for_end();
  REQUIRE(comes_true([&] { return all_failed(patient.rnic->statistics().passive) == 1; }));
  check_failed(patient.rnic->statistics().passive, SetupFailure::kProtocol);
  CHECK_EQ(patient.rnic->statistics().pending_setups, 0);
  auto half = RawPeer::connect(patient.listener->local().port);
  half.send(octets("MPA ID Req"));
  half.close();
  patient.connect();
}

TEST_CASE("a refused Write places no octet, and its Terminate is counted by code, at either end") {
  const bytes::Fault dead{bytes::Layer::kDdp, 1, 0x00};
  Established pair;
  const auto before = pair.b.buffer;
  auto target = pair.b.remote(0);
  target.rkey.value ^= 0x100;  // No region has this STag.
  REQUIRE_FALSE(pair.a.post(WrOpcode::kWrite, 0, 64, target));
  pair.expect_disconnected();
  REQUIRE(pair.a.qp->query().terminate_received.has_value());
  CHECK_EQ(pair.a.qp->query().terminate_received->fault, dead);
  CHECK_EQ(pair.b.buffer, before);
  REQUIRE(comes_true([&] { return count_of(pair.rnic->statistics(), dead).received == 1; }));
  const auto now = pair.rnic->statistics();
  CHECK_EQ(count_of(now, dead).sent, 1);
  CHECK_EQ(count_of(now, dead).received, 1);
  CHECK_EQ(now.terminates.size(), 1);
}

TEST_CASE("a Send without a receive is counted as a hold, once") {
  Established pair({.connection = {.receive_hold = kLimit}});
  CHECK_FALSE(verbs::QueuePairPort::receive_awaited_since(*pair.b.qp));
  REQUIRE_FALSE(pair.a.post(WrOpcode::kSend, 0, 64));
  REQUIRE(comes_true([&] { return pair.rnic->statistics().receive_holds == 1; }));
  const auto since = verbs::QueuePairPort::receive_awaited_since(*pair.b.qp);
  REQUIRE(since);
  CHECK(*since <= std::chrono::steady_clock::now());
  pair.b.post_recv(0, 64);
  CHECK_FALSE(verbs::QueuePairPort::receive_awaited_since(*pair.b.qp));
  pair.b.expect_success();
  CHECK_FALSE(verbs::QueuePairPort::receive_awaited_since(*pair.b.qp));
  CHECK_EQ(pair.rnic->statistics().receive_holds, 1);
}

TEST_CASE("the number of distinct Terminate codes from peers is limited") {
  Statistics s;
  for (unsigned i = 0; i < 1000; ++i) {
    verbs::Incidents one;
    one.terminate_received =
        bytes::Fault{static_cast<bytes::Layer>(i >> 8), 9, static_cast<std::uint8_t>(i & 0xFF)};
    s.add(one);
  }
  CHECK_EQ(s.terminates.size(), Statistics::kMaxTerminates);
  CHECK_EQ(s.other_terminates.received, 1000 - Statistics::kMaxTerminates);
  Statistics twice = s;
  twice += s;
  CHECK_EQ(twice.terminates[0].received, 2);
  CHECK_EQ(twice.other_terminates.received, 2 * s.other_terminates.received);
}
