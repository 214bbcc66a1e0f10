// SPDX-License-Identifier: Apache-2.0
// Tests the transition from startup to full operation: which end may send first, what it sends, and
// what the application sees if startup fails.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

/// Checks that the setup of `end` fails 2 s from now, not before, and is reported once.
void check_times_out(End& end, verbs::SocketAction action) {
  REQUIRE(end.connection->timeout() == end.now + 2s);
  end.connection->handle_timeout(end.now + 2s - 1ns);
  CHECK_FALSE(end.event().has_value());
  end.connection->handle_timeout(end.now + 2s);
  CHECK(end.event() == ConnectionEventType::kFailed);
  REQUIRE(end.last_failure.has_value());
  CHECK(end.last_failure->timed_out);
  CHECK(end.connection->socket_action() == action);
  CHECK_FALSE(end.event().has_value());
  CHECK_FALSE(end.connection->timeout());
}

bytes::View view(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

}  // namespace

TEST_CASE("a responder sends nothing before its first valid FPDU arrives [MPA-93, MPA-88]") {
  ConnectionOptions markers;
  markers.startup.markers = true;
  for (const auto& options : {ConnectionOptions{}, markers}) {
    Pair pair(options, options);
    const auto [inbox, mine] = regions(pair, 64);
    post_recv(*pair.a, 10, sge(inbox, 0, 64));
    post_send(*pair.b, 1, sge(mine, 0, 64));
    REQUIRE(pair.establish());
    pair.advance(1s);
    CHECK(pair.to_a.log.size() == kEnhancedFrame);
    CHECK(pair.b->completions().empty());
    // After any valid FPDU from `a`, `b` may send.
    post_write(*pair.a, 2, sge(inbox, 0, 0), {}, SendFlags::kNone);
    CHECK(completed(pair, *pair.b) == "1 success");
    CHECK(text(pair.a->completions()) == "10 success");
  }
}

TEST_CASE("the RTR is the first FPDU, and stops the set-up timeout [EMPA-1, EMPA-38, MPA-102]") {
  struct Row {
    mpa::Rtr rtr;
    std::uint8_t opcode;
  };
  for (const Row& row :
       {Row{mpa::Rtr::kWrite, 0}, Row{mpa::Rtr::kRead, 1}, Row{mpa::Rtr::kSend, 3}}) {
    Pair pair(with_rtr(row.rtr), {});
    const auto [mine, inbox] = regions(pair, 64);
    post_recv(*pair.b, 10, sge(inbox, 0, 64));
    post_send(*pair.a, 1, sge(mine, 0, 33));
    REQUIRE(pair.establish());
    // Checks ULPDU_Length, the DDP control octet and the RDMAP control octet of the first FPDU.
    const auto ulpdu = static_cast<unsigned>(pair.to_b.log[kEnhancedFrame + 1]);
    const auto control = static_cast<std::uint8_t>(pair.to_b.log[kEnhancedFrame + 3]);
    CHECK((control & 0x0F) == row.opcode);
    CHECK(ulpdu == (row.opcode == 0 ? 14U : row.opcode == 1 ? 46U : 18U));
    CHECK_FALSE(pair.b->connection->timeout());
    // Neither end's program sees the RTR.
    CHECK(text(pair.a->completions()) == "1 success");
    const auto received = pair.b->completions();
    REQUIRE(received.size() == 1);
    CHECK(received[0].byte_len == 33);
    CHECK(saw(*pair.a, ConnectionEventType::kEstablished));
    CHECK(saw(*pair.b, ConnectionEventType::kEstablished));
  }
}

TEST_CASE("an agreed RTR that does not arrive ends the set-up at the timeout [MPA-102]") {
  ConnectionOptions options = with_rtr(mpa::Rtr::kWrite);
  options.startup.timeout = 2s;
  Pair pair(options, options);
  REQUIRE(pair.a->connection->connect({}, pair.a->now));
  pair.run();
  REQUIRE(pair.b->event() == ConnectionEventType::kRequest);
  pair.advance(1s);  // The timeout does not include the program's time to decide.
  End& end = *pair.b;
  REQUIRE(end.connection->accept(*end.qp, {}, 16, 16, end.now));
  Region* mine = end.memory(64, kEverything);
  post_send(end, 1, sge(mine, 0, 64));
  // Receiving half of an FPDU does not extend the time limit.
  const auto sink = end.connection->receive_plan();
  std::fill_n(sink[0].begin(), 10, std::byte{1});
  end.connection->received(10, end.now + 1s);
  check_times_out(end, verbs::SocketAction::kReset);
  CHECK(text(end.completions()) == "1 work request flushed");
  CHECK(end.qp->state() == QpState::kError);
}

TEST_CASE("a rejection carries private data, leaves TCP open [MPA-85, MPA-86, MPA-91, MPA-96]") {
  Pair pair;
  REQUIRE(pair.a->connection->connect(view("hello"), pair.a->now));
  pair.run();
  REQUIRE(pair.b->event() == ConnectionEventType::kRequest);
  CHECK(std::ranges::equal(pair.b->connection->startup().peer_private_data(), view("hello")));
  REQUIRE(pair.b->connection->reject(view("not now"), pair.b->now));
  pair.run();
  CHECK(pair.a->event() == ConnectionEventType::kRejected);
  CHECK(std::ranges::equal(pair.a->connection->startup().peer_private_data(), view("not now")));
  CHECK_FALSE(pair.to_b.fin);
  CHECK_FALSE(pair.to_a.fin);
  CHECK(pair.a->qp->state() == QpState::kIdle);
  // Data that arrives after the rejection does not belong to MPA, so the connection does not read
  // it. A FIN does not cause a second event.
  CHECK(pair.a->connection->receive_plan().empty());
  CHECK(pair.b->connection->receive_plan().empty());
  CHECK(pair.a->connection->read_ahead().empty());
  pair.a->connection->peer_closed(pair.a->now);
  CHECK_FALSE(pair.a->event().has_value());
  CHECK(pair.a->connection->socket_action() == verbs::SocketAction::kClose);
}

TEST_CASE("the request is reported once, also if a timer fires early") {
  Pair pair;
  REQUIRE(pair.a->connection->connect({}, pair.a->now));
  pair.run();
  pair.b->connection->handle_timeout(pair.b->now);
  CHECK(pair.b->event() == ConnectionEventType::kRequest);
  CHECK_FALSE(pair.b->event().has_value());
}

TEST_CASE("a peer that disconnects during set-up is reported once [MPA-108]") {
  for (const bool reset : {true, false}) {
    Pair pair;
    REQUIRE(pair.a->connection->connect({}, pair.a->now));
    reset ? pair.a->connection->lost(pair.a->now) : pair.a->connection->peer_closed(pair.a->now);
    CHECK(pair.a->event() == ConnectionEventType::kFailed);
    CHECK_FALSE(pair.a->event().has_value());
    CHECK(pair.a->connection->socket_action() == verbs::SocketAction::kClose);
    CHECK(pair.a->connection->receive_plan().empty());
    CHECK(pair.a->connection->transmit_plan(8, pair.a->now).empty());
  }
}

TEST_CASE("a queue pair that is not Idle cannot be connected: the peer receives 2/0/05 [EMPA-44]") {
  Pair pair;
  CHECK(!pair.a->qp->abort());  // Moves the queue pair from Idle to Error.
  CHECK_FALSE(pair.establish());
  CHECK(saw(*pair.a, ConnectionEventType::kFailed));
  CHECK(pair.a->qp->state() == QpState::kError);
  CHECK(received_code(*pair.b) == "2/0/05");
  CHECK(pair.b->qp->state() == QpState::kError);
  CHECK_FALSE(pair.to_b.sent_after_fin);
}

TEST_CASE("with LocalErrors::kDepart, the peer of a queue pair that is not Idle gets only a FIN") {
  const ConnectionOptions departs{.local_errors = verbs::LocalErrors::kDepart};
  Pair pair(departs, departs);
  End* gone = nullptr;
  SUBCASE("the initiator") { gone = pair.a.get(); }
  SUBCASE("the responder") { gone = pair.b.get(); }
  End& peer = gone == pair.a.get() ? *pair.b : *pair.a;
  CHECK(!gone->qp->abort());
  CHECK_FALSE(pair.establish());
  CHECK(saw(*gone, ConnectionEventType::kFailed));
  CHECK_FALSE(peer.qp->query().terminate_received);
  CHECK_FALSE(peer.qp->query().local_error);
  CHECK(count(peer, AsyncEventType::kTerminateReceived) == 0);
}

TEST_CASE("both ends offer a power of two as the number of Reads") {
  ConnectionOptions options;
  options.startup.ird = 7;
  options.startup.ord = 7;
  Pair pair(options);
  REQUIRE(pair.establish(5, 5));
  CHECK(pair.b->connection->startup().peer_offer()->ird == 4);
  CHECK(pair.b->connection->startup().peer_offer()->ord == 7);
  CHECK(pair.a->connection->startup().peer_offer()->ird == 4);
  CHECK(pair.a->qp->query().ord == 4);
  CHECK(pair.b->qp->query().ord == 4);
}
