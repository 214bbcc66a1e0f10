// SPDX-License-Identifier: Apache-2.0
// Tests answers that stand in the stream behind a message for which this end has posted no receive.
// The application may post that receive only after its requests have completed.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kPayload = 40'000;

ConnectionOptions overtaken() { return together(holding(60s, acknowledged())); }

/// A pair whose end `a` has not posted the receive for a Send of `b`, which has request number 50
/// and has arrived.
struct Overtaken : Connected {
  explicit Overtaken(const ConnectionOptions& options = overtaken(), std::size_t segment = 100'000)
      : Connected(options, options, {.seed = 3, .max_segment = segment}) {
    fill_pattern(theirs);
    let_responder_send(*this);
    post_send(*b, 50, sge(theirs, 0, 64));
    CHECK(completed(*this) == "");
    REQUIRE(a->connection->is_held());
  }
  void post_receive() { post_recv(*a, 60, sge(inbox, 0, 64)); }

  Region* mine = a->memory(kPayload, kEverything);
  Region* theirs = b->memory(kPayload, kEverything);
  Region* inbox = a->memory(64, kEverything);
};

}  // namespace

TEST_CASE("requests of every kind complete while a message of the peer waits [RDMAP-79]") {
  for (const std::size_t segment : {100'000U, 50U}) {
    for (const bool crc : {true, false}) {
      Overtaken pair(with_crc(crc, overtaken()), segment);
      Region* const target = pair.b->memory(kPayload, kEverything);
      for (std::uint64_t id = 0; id < 2; ++id) post_recv(*pair.b, id, sge(target, 0, 64));
      post_read(*pair.a, 1, sge(pair.mine, 0, kPayload), remote(pair.theirs));
      CHECK(completed(pair) == "1 success");
      CHECK(same(pair.mine, pair.theirs, kPayload));
      post_send(*pair.a, 2, sge(pair.mine, 0, 64));
      CHECK(completed(pair) == "2 success");
      post_write(*pair.a, 3, sge(pair.mine, 0, kPayload), remote(target));
      CHECK(completed(pair) == "3 success");
      CHECK(same(pair.mine, target, kPayload));
      post_fetch_add(*pair.a, 4, sge(pair.mine, 0, 8), remote(target), 1);
      post_immediate(*pair.a, 5, 7);
      CHECK(completed(pair) == "4 success, 5 success");
      CHECK(completed(pair, *pair.b) == "0 success, 1 success");
      pair.post_receive();
      CHECK(completed(pair) == "60 success");
      CHECK(same(pair.inbox, pair.theirs, 64));
      CHECK(completed(pair, *pair.b) == "50 success");
      CHECK(pair.a->connection->incidents().receive_holds == 1);
    }
  }
}

TEST_CASE("messages of the peer keep their order when answers between them overtake [RDMAP-67]") {
  Overtaken pair;
  Region* const target = pair.a->memory(64, kEverything);
  Region* const second = pair.a->memory(64, kEverything);
  const auto read = [&pair](std::uint64_t id) {
    post_read(*pair.a, id, sge(pair.mine, 0, kPayload), remote(pair.theirs));
    CHECK(completed(pair) == std::to_string(id) + " success");
  };
  read(1);
  post_write(*pair.b, 51, sge(pair.theirs, 8, 8), remote(target));
  pair.run();
  read(2);
  post_send(*pair.b, 52, sge(pair.theirs, 16, 8));
  pair.run();
  read(3);
  CHECK(all_zero(target));
  CHECK(pair.b->completions().empty());
  pair.post_receive();
  CHECK(completed(pair) == "60 success");
  CHECK(completed(pair, *pair.b) == "50 success, 51 success");
  CHECK(std::memcmp(target->address, pair.theirs->address + 8, 8) == 0);
  read(4);
  post_recv(*pair.a, 61, sge(second, 0, 64));
  CHECK(completed(pair) == "61 success");
  CHECK(std::memcmp(second->address, pair.theirs->address + 16, 8) == 0);
  CHECK(completed(pair, *pair.b) == "52 success");
  CHECK(pair.a->connection->incidents().receive_holds == 2);
}

TEST_CASE("if a Send waits at each end, the requests before both complete") {
  Connected pair(overtaken(), overtaken());
  const Regions m = regions(pair, 64);
  let_responder_send(pair);
  post_recv(*pair.a, 10, sge(m.mine, 0, 64));
  post_recv(*pair.b, 10, sge(m.theirs, 0, 64));
  for (std::uint64_t id = 0; id < 2; ++id) {
    post_send(*pair.a, id, sge(m.mine, 0, 8));
    post_send(*pair.b, id, sge(m.theirs, 0, 8));
  }
  CHECK(completed(pair) == "10 success, 0 success");
  CHECK(completed(pair, *pair.b) == "10 success, 0 success");
}

TEST_CASE("a Terminate overtakes a waiting message only if requests of this end wait for it") {
  for (const bool waits : {true, false}) {
    CAPTURE(waits);
    Overtaken pair;
    if (waits) {
      post_write(*pair.a, 1, sge(pair.mine, 0, 8), wrong_key(remote(pair.theirs)));
    } else {
      CHECK(!pair.b->qp->terminate());
    }
    pair.run();
    if (!waits) {
      CHECK(pair.a->qp->state() == QpState::kRts);
      pair.post_receive();
    }
    CHECK(completed(pair) == (waits ? "1 remote access error" : "60 success"));
    CHECK(received_code(*pair.a) == (waits ? "1/1/00" : "0/0/00"));
    CHECK(pair.a->qp->state() == QpState::kError);
  }
}

TEST_CASE("the Terminate for a message without a receive echoes it, not a later answer [DDP-68]") {
  Overtaken pair(holding(5s));
  post_read(*pair.a, 1, sge(pair.mine, 0, kPayload), remote(pair.theirs));
  CHECK(completed(pair) == "1 success");
  pair.advance(5s);
  check_refused(pair, *pair.a, "1/2/02");
  check_repeated(*pair.a, ddp::kUntaggedHeaderSize, 0);
}

TEST_CASE("a fault in an answer ends the stream, although an earlier message waits [RDMAP-46]") {
  Overtaken pair(with_crc(false, overtaken()));
  ddp::SegmentHeader header{.tagged = true, .last = true, .stag = Stag{1}};
  header.rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kReadResponse);
  const auto strange = fpdu(header, {});
  CHECK(pair.a->receive(strange) == strange.size());
  check_refused(pair, *pair.a, "0/2/06");
}
