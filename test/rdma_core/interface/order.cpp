// SPDX-License-Identifier: Apache-2.0
// Tests the order of connection events and completions, which arrive through separate descriptors.
// A program that is woken up by a completion must find the event that precedes it. Otherwise the
// program would get a completion of a connection that it believes to be not yet established, or
// still connected.
#include <algorithm>
#include <array>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

// Number of rounds. In each round, an event and a completion are due at the same time. If the
// library does not order them, about one run of five fails on a machine with two processors.
constexpr int kRaces = 50;

/// A client that is connecting, and a server that has received its request. Each has posted a
/// receive and armed its completion queue.
struct Waiting : Meeting {
  Waiting() {
    make_queue_pair(client);
    prepare(client, client_octets);
    request_connection(nullptr);
    make_queue_pair(server);
    prepare(server, server_octets);
  }

  static void prepare(End& end, std::optional<Buffer>& octets) {
    octets.emplace(end.pd.get(), 8);
    REQUIRE(end.receive(octets->sge()) == 0);
    REQUIRE(ibv_req_notify_cq(end.receive_cq.get(), 0) == 0);
  }
  void accept() { Meeting::accept(nullptr); }
  void connect() {
    accept();
    establish();
  }

  std::optional<Buffer> client_octets, server_octets;
};

/// A way in which a program learns of a completion.
using Notice = void (*)(const End&);
constexpr std::array<Notice, 2> kNotices{
    [](const End& end) { REQUIRE(is_readable(end.receive_channel->fd, kTimeoutMs)); },
    [](const End& end) { End::next(end.receive_cq); }};

// [RCM-138]
// [IBV-311]
TEST_CASE("a receive of the client completes after ESTABLISHED") {
  for (int i = 0; i < kRaces; ++i) {
    for (const Notice notice : kNotices) {
      Waiting meeting;
      // This Send is posted before rdma_accept(), so it is sent together with the Reply.
      REQUIRE(meeting.server.send(meeting.server_octets->sge()) == 0);
      meeting.accept();
      notice(meeting.client);
      REQUIRE(is_readable(meeting.channel->fd));
    }
  }
}

// [RCM-137, RCM-275]
TEST_CASE("a receive of the server completes after ESTABLISHED") {
  for (int i = 0; i < kRaces; ++i) {
    for (const Notice notice : kNotices) {
      Waiting meeting;
      REQUIRE(meeting.client.send(meeting.client_octets->sge()) == 0);
      meeting.accept();
      notice(meeting.server);
      REQUIRE(is_readable(meeting.server_channel->fd));
    }
  }
}

// [RCM-136]
TEST_CASE("requests posted for a connection that is rejected are flushed after REJECTED") {
  for (int i = 0; i < kRaces; ++i) {
    for (const Notice notice : kNotices) {
      Waiting meeting;
      REQUIRE(rdma_reject(meeting.server.id.get(), nullptr, 0) == 0);
      meeting.request.reset();
      notice(meeting.client);
      REQUIRE(is_readable(meeting.channel->fd));
      CHECK(expect(meeting.channel, RDMA_CM_EVENT_REJECTED)->id == meeting.client.id.get());
    }
  }
}

// [RCM-339]
TEST_CASE("when the peer disconnects, posted requests are flushed after DISCONNECTED") {
  for (int i = 0; i < kRaces; ++i) {
    for (const Notice notice : kNotices) {
      Waiting meeting;
      meeting.connect();
      REQUIRE(rdma_disconnect(meeting.client.id.get()) == 0);
      notice(meeting.server);
      REQUIRE(is_readable(meeting.server_channel->fd));
      CHECK(expect(meeting.server_channel, RDMA_CM_EVENT_DISCONNECTED)->id ==
            meeting.server.id.get());
    }
  }
}

// [RCM-37, RCM-338, RCM-339]
TEST_CASE("earlier messages complete before DISCONNECTED, and flushed receives after it") {
  const std::string_view words = "the last";
  Waiting meeting;
  REQUIRE(meeting.server.receive(meeting.server_octets->sge()) == 0);
  meeting.connect();
  std::ranges::copy(words, meeting.client_octets->octets.begin());
  REQUIRE(meeting.client.send(meeting.client_octets->sge()) == 0);
  End::done(meeting.client.send_cq);
  SUBCASE("rdma_disconnect()") { REQUIRE(rdma_disconnect(meeting.client.id.get()) == 0); }
  SUBCASE("the id is destroyed") { meeting.client.id.reset(); }
  CHECK(End::done(meeting.server.receive_cq).byte_len == words.size());
  CHECK(meeting.server_octets->text(words.size()) == words);
  CHECK(End::next(meeting.server.receive_cq).status == IBV_WC_WR_FLUSH_ERR);
  CHECK(is_readable(meeting.server_channel->fd));
}

TEST_CASE("the state in ibv_qp changes when the program reads the connection event") {
  Waiting meeting;
  const ibv_qp* const qp = meeting.server.id->qp;
  const ibv_qp_state before = qp->state;
  meeting.accept();
  int changes = 0;
  do {
    if (qp->state != before) ++changes;
  } while (!is_readable(meeting.server_channel->fd));
  CHECK_EQ(qp->state, before);
  CHECK_EQ(changes, 0);
  expect(meeting.server_channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK_EQ(qp->state, IBV_QPS_RTS);
}

TEST_CASE("a program that gives up a queue pair sees its requests flushed without reading events") {
  Waiting meeting;
  meeting.accept();
  REQUIRE(is_readable(meeting.channel->fd, kTimeoutMs));
  REQUIRE(move_to(meeting.client.id->qp, IBV_QPS_ERR) == 0);
  CHECK(End::next(meeting.client.receive_cq).status == IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
