// SPDX-License-Identifier: Apache-2.0
// Tests errors at the local end. The request that caused the error completes with its own status,
// the peer receives a Terminate "local catastrophic error" without any header, and the other
// requests are flushed in order.
#include "iwarp/verbs/queue_pair_port.hpp"
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

// Checks the result after `pair.a` has posted two requests. Request 1 cannot be executed.
void check_local_failure(Pair& pair, WcStatus status) {
  check_refused(pair, *pair.a, "0/0/00");
  CHECK_FALSE(pair.a->qp->query().terminate_sent->segment.has_value());  // [RDMAP-92]
  const auto done = pair.a->completions();
  REQUIRE(done.size() == 2);
  CHECK(done[0].wr_id == 1);
  CHECK(done[0].status == status);
  CHECK(done[1].wr_id == 2);
  CHECK(done[1].status == WcStatus::kWrFlush);
}

struct BadSource {
  const char* name;
  Sge (*make)(End& end);
};

const std::array kBadSources{
    BadSource{"no such lkey",
              [](End& end) { return wrong_key(sge(end.memory(64, kEverything), 0, 64)); }},
    BadSource{"one octet in front",
              [](End& end) {
                Sge s = sge(end.memory(64, kEverything), 0, 64);
                --s.address;
                return s;
              }},
    BadSource{"one octet behind", [](End& end) { return sge(end.memory(64, kEverything), 1, 64); }},
    BadSource{"invalidated",
              [](End& end) {
                Region* region = end.memory(64, kEverything);
                CHECK(end.stags.invalidate(1, 7, stag_of(region), false) ==
                      verbs::StagTable::Invalidated::kDone);
                return sge(region, 0, 64);
              }},
};

}  // namespace

// [IBV-126, IBV-315]
TEST_CASE("a Send of unregistered memory is a local error [VRB-28, VRB-54, RDMAP-91, RDMAP-92]") {
  for (const BadSource& bad : kBadSources) {
    for (const WrOpcode opcode : {WrOpcode::kSend, WrOpcode::kWrite}) {
      CAPTURE(bad.name);
      Connected pair;
      Region* theirs = pair.b->memory(64, kEverything);
      Region* mine = pair.a->memory(64, kEverything);
      const Sge source = bad.make(*pair.a);
      post(*pair.a, {.wr_id = 1, .opcode = opcode, .sgl = {&source, 1}, .remote = remote(theirs)});
      post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
      check_local_failure(pair, WcStatus::kLocalProtection);
      CHECK(all_zero(theirs));
    }
  }
}

TEST_CASE("with LocalErrors::kDepart a local error sends a FIN and nothing else") {
  const ConnectionOptions departs{.local_errors = verbs::LocalErrors::kDepart};
  for (const BadSource& bad : kBadSources) {
    CAPTURE(bad.name);
    Connected pair(departs, {});
    Region* inbox = pair.b->memory(64, kEverything);
    post_recv(*pair.b, 10, sge(inbox, 0, 64));
    const Sge source = bad.make(*pair.a);
    post_send(*pair.a, 1, source);
    post_send(*pair.a, 2, source);
    const auto octets = pair.to_b.log.size();
    CHECK(completed(pair) == "1 local protection error, 2 work request flushed");
    CHECK(pair.a->qp->state() == QpState::kError);
    CHECK(pair.a->qp->query().local_error);
    CHECK_FALSE(pair.a->qp->query().terminate_sent);
    CHECK(pair.to_b.log.size() == octets);
    CHECK(pair.to_b.over);
    // The peer sees an orderly close.
    CHECK_FALSE(pair.b->qp->query().terminate_received);
    CHECK_FALSE(pair.b->qp->query().local_error);
    CHECK(pair.b->qp->state() == QpState::kIdle);
  }
}

TEST_CASE("if an error stops only the send queue, the stream goes on in both directions") {
  for (const auto completions : {verbs::Completions::kSent, verbs::Completions::kAcknowledged}) {
    const ConnectionOptions options{.completions = completions};
    Connected pair(options, options);
    verbs::make_unreliable(*pair.a->qp);
    const auto [mine, theirs] = regions(pair, 64);
    const Sge good = sge(mine, 0, 8);
    const Sge bad = kBadSources[0].make(*pair.a);
    for (std::uint64_t first = 1; first < 10; first += 4) {
      post_write(*pair.a, first, good, remote(theirs), SendFlags::kNone);
      post_send(*pair.a, first + 1, bad, SendFlags::kNone);
      post_write(*pair.a, first + 2, good, remote(theirs), SendFlags::kNone);
      const auto ids = std::to_string(first + 1) + " local protection error, " +
                       std::to_string(first + 2) + " work request flushed";
      CHECK(completed(pair) == ids);
      CHECK(verbs::has_stopped_sends(*pair.a->qp));
      CHECK(pair.a->qp->state() == QpState::kRts);
      post_write(*pair.b, 1, sge(theirs, 0, 8), remote(mine));
      pair.run();
      CHECK(pair.b->completions().size() == 1);
      verbs::resume_sends(*pair.a->qp);
      post_write(*pair.a, first + 3, good, remote(theirs));
      CHECK(completed(pair) == std::to_string(first + 3) + " success");
    }
    CHECK(pair.b->qp->state() == QpState::kRts);
  }
}

TEST_CASE("the second element of a list is checked like the first [VRB-28] [VRB-40]") {
  auto [pair, mine, theirs] = Ready(64);
  const std::array list{sge(mine, 0, 8), sge(mine, 60, 8)};
  post(*pair.a, {.wr_id = 1, .opcode = WrOpcode::kWrite, .sgl = list, .remote = remote(theirs)});
  post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
  check_local_failure(pair, WcStatus::kLocalProtection);
  CHECK(all_zero(theirs));
}

TEST_CASE("no request starts after one that failed, also among Reads [VRB-14, VRB-43, VRB-54]") {
  for (const bool second_is_bad : {false, true}) {
    auto [pair, mine, theirs] = Ready(4096);
    fill_pattern(mine);
    for (std::uint64_t id = 1; id <= 2; ++id) {
      post_read(*pair.b, id, sge(theirs, 0, 2000), remote(mine));
    }
    post_write(*pair.a, 9, sge(mine, 0, 0), {}, SendFlags::kNone);
    // When `a` reaches the bad request, it has not yet sent all responses to the peer's Reads.
    bool posted = false;
    while (!posted && pair.step()) {
      posted = opcodes(pair.to_a).find('1') != std::string::npos;
    }
    REQUIRE(posted);
    const Sge bad = kBadSources[0].make(*pair.a);
    const Sge second = second_is_bad ? bad : sge(mine, 0, 8);
    const std::array list{SendWr{.wr_id = 1, .opcode = WrOpcode::kWrite, .sgl = {&bad, 1}},
                          SendWr{.wr_id = 2,
                                 .opcode = WrOpcode::kWrite,
                                 .sgl = {&second, 1},
                                 .remote = remote(theirs, 3000)}};
    std::size_t count = 0;
    REQUIRE(!pair.a->qp->post_send(list, count));
    check_local_failure(pair, WcStatus::kLocalProtection);
    CHECK(word(theirs, 3000) == 0);
  }
}

// [IBV-132]
TEST_CASE("a Read's or an atomic's sink must be writable [EXT-60] [VRB-28] [VRB-30] [VRB-54]") {
  for (const bool atomic : {false, true}) {
    Connected pair;
    Region* mine = pair.a->memory(64, Access::kNone);
    Region* theirs = pair.b->memory(64, kEverything);
    post_answered(*pair.a, atomic, 1, sge(mine, 0, 8), remote(theirs));
    post_read(*pair.a, 2, sge(mine, 0, 8), remote(theirs));
    check_local_failure(pair, WcStatus::kLocalProtection);
    CHECK(opcodes(pair.to_b) == "7");
    CHECK(all_zero(theirs));
  }
}

// [IBV-326, IBV-542]
TEST_CASE("a receive is checked only for octets that are placed, with and without SRQ [VRB-28]") {
  struct Row {
    std::size_t length;
    const char* status;
  };
  for (const bool shared : {true, false}) {
    for (const auto [length, status] :
         {Row{0, "success"}, Row{8, "success"}, Row{24, "success"},
          Row{25, "local protection error"}, Row{100, "local protection error"}}) {
      CAPTURE(length);
      verbs::SharedReceiveQueue srq(1, {}, nullptr);
      Connected pair({.max_ulpdu = 128}, {}, {}, {}, {.srq = shared ? &srq : nullptr});
      const auto [mine, inbox] = regions(pair, 100, 24);
      fill_pattern(mine);
      // The first element is good, the second one goes beyond the region, and the third one has no
      // region.
      const Sge none = wrong_key(sge(inbox, 0, 8));
      const std::array list{sge(inbox, 0, 8), sge(inbox, 8, 17), none};
      const RecvWr wr{.wr_id = 10, .sgl = list};
      REQUIRE(!(shared ? srq.post_recv(wr) : pair.b->qp->post_recv(wr)));
      post_send(*pair.a, 1, sge(mine, 0, length));
      CHECK(completed(pair, *pair.b) == std::string("10 ") + status);
      CHECK(pair.b->guards_intact());
      if (status == std::string_view("success")) {
        CHECK(same(mine, inbox, length));
      } else {
        check_refused(pair, *pair.b, "1/0/00");
      }
    }
  }
}

TEST_CASE("an Immediate consumes a receive whose memory cannot be used [EXT-50]") {
  auto [pair, mine, inbox] = Ready(64);
  const Sge none = wrong_key(sge(inbox, 0, 8));
  for (const std::uint64_t id : {10U, 11U}) post_recv(*pair.b, id, none);
  post_write_immediate(*pair.a, 1, sge(mine, 0, 8), remote(inbox), 5);
  post_send(*pair.a, 2, sge(mine, 0, 8));
  CHECK(completed(pair, *pair.b) == "10 success, 11 local protection error");
}

TEST_CASE("local registrations and invalidates of wrong STags fail [VRB-34, VRB-54]") {
  for (const bool registration : {true, false}) {
    Connected pair;
    Region* region = pair.a->memory(64, kEverything);
    Region* other = foreign(*pair.a, 64, 2, 0);
    if (registration) {
      post_fast_register(*pair.a, 1, region, 1, region, Access::kRemoteRead);
    } else {
      post_local_invalidate(*pair.a, 1, stag_of(other));
    }
    post_send(*pair.a, 2, sge(region, 0, 8));
    check_local_failure(pair, registration ? WcStatus::kLocalQpOperation : WcStatus::kMwBind);
    CHECK(other->valid.load());
  }
}

TEST_CASE("the program may end the stream: 0/0/00, Error at both ends [VRB-9] [VRB-55]") {
  Connected pair;
  Region* inbox = pair.a->memory(64, Access::kLocalWrite);
  post_recv(*pair.a, 10, sge(inbox, 0, 64));
  CHECK(!pair.a->qp->terminate());
  CHECK(pair.a->qp->terminate() == verbs::Errc::kWrongState);   // [VRB-13]
  CHECK(pair.a->qp->disconnect() == verbs::Errc::kWrongState);  // [VRB-13]
  check_refused(pair, *pair.a, "0/0/00");
  CHECK(text(pair.a->completions()) == "10 work request flushed");
}

// [IBV-291]
TEST_CASE(
    "a completion queue that overflows ends its queue pairs and is reported once; a stream of the "
    "same end on another queue continues [RDMAP-117] [SEC-29]") {
  verbs::CompletionQueue tiny(2, nullptr);
  Pair pair({}, {}, {}, {.send_cq = &tiny});
  Pair other({}, {}, {.seed = 2});
  const verbs::QpInit same_end{.pd = 1, .send_cq = &pair.a->cq, .recv_cq = &pair.a->cq};
  verbs::QueuePair bystander(8, same_end, pair.a->stags, nullptr);
  other.a->Driver::open(Role::kInitiator, bystander, {});
  REQUIRE(pair.establish());
  REQUIRE(other.a->connection->connect({}, other.a->now));
  other.run();
  REQUIRE(other.b->event() == ConnectionEventType::kRequest);
  REQUIRE(other.b->connection->accept(*other.b->qp, {}, 16, 16, other.b->now));
  other.run();

  const auto [mine, theirs] = regions(pair, 64);
  Region* elsewhere = other.b->memory(64, kEverything);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs));
  }
  pair.run();
  CHECK(tiny.overflowed());
  CHECK(pair.a->qp->state() == QpState::kError);
  CHECK(count(*pair.a, AsyncEventType::kCqOverflow) == 1);
  CHECK(sent_code(*pair.a) == "0/0/00");
  CHECK(pair.b->qp->state() == QpState::kError);

  const Sge source = sge(mine, 0, 8);
  REQUIRE(!bystander.post_send({.wr_id = 99,
                                .opcode = WrOpcode::kWrite,
                                .flags = SendFlags::kSignaled,
                                .sgl = {&source, 1},
                                .remote = remote(elsewhere)}));
  other.run();
  CHECK(text(pair.a->completions()) == "99 success");
  CHECK(bystander.state() == QpState::kRts);
  CHECK(!bystander.abort());
}
