// SPDX-License-Identifier: Apache-2.0
// Breaks the link at every octet of a scenario. All requests must complete in order, nothing may
// hang, and data that is reported as received must be correct.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

struct Plan {
  ConnectionOptions options;
  std::size_t max_segment;
};

std::vector<Plan> plans() {
  std::vector<Plan> out;
  for (const bool crc : {true, false}) {
    for (const bool markers : {true, false}) {
      Plan p{.options = {}, .max_segment = crc ? 61U : 1000U};
      p.options.startup.crc = crc;
      p.options.startup.markers = markers;
      p.options.startup.rtr = markers ? mpa::Rtr::kRead : mpa::Rtr::kNone;
      p.options.max_ulpdu = 256;
      out.push_back(p);
    }
  }
  return out;
}

// Checks the completions of one queue: ids increase, and no completion after the first flushed one
// succeeds.
void check_in_order(const std::vector<WorkCompletion>& list) {
  bool flushed = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) CHECK(list[i - 1].wr_id < list[i].wr_id);
    const bool success = list[i].status == WcStatus::kSuccess;
    CHECK((success || list[i].status == WcStatus::kWrFlush));
    CHECK_FALSE((flushed && success));
    flushed |= !success;
  }
}

struct Run {
  explicit Run(Pair& pair) : p(pair) {
    mine = p.a->memory(700, kEverything);
    back = p.a->memory(700, kEverything);
    theirs = p.b->memory(700, kEverything);
    inbox = p.b->memory(700, kEverything);
    fill_pattern(mine);
  }
  void post_all() {
    post_recv(*p.b, 1, sge(inbox, 0, 300));
    post_recv(*p.b, 2, sge(inbox, 300, 300));
    post_write(*p.a, 1, sge(mine, 0, 700), remote(theirs));
    post_read(*p.a, 2, sge(back, 0, 700), remote(theirs));
    post_send(*p.a, 3, sge(mine, 0, 300));
    post_send(*p.a, 4, sge(mine, 300, 300));
  }

  Pair& p;
  Region* mine;
  Region* back;
  Region* theirs;
  Region* inbox;
};

// Runs a scenario whose link breaks at octet `at`. Returns whether the scenario ended before that.
bool run_with_reset(const Plan& plan, std::size_t at) {
  Pair pair(plan.options, plan.options,
            {.seed = 3, .max_segment = plan.max_segment, .reset_at = at});
  Run run(pair);
  run.post_all();
  const bool connected = pair.establish();
  const bool whole = pair.to_b.log.size() < at;
  pair.a->connection->lost(pair.a->now);
  pair.b->connection->lost(pair.b->now);
  const bool in_time = pair.a->qp->state() == QpState::kError;
  // A queue pair that was never connected keeps its requests until abort() flushes them.
  CHECK(!pair.a->qp->abort());
  CHECK(!pair.b->qp->abort());
  CHECK((in_time || !connected));

  const auto sent = pair.a->completions();
  const auto received = pair.b->completions();
  CHECK(sent.size() == 4);
  CHECK(received.size() == 2);
  check_in_order(sent);
  check_in_order(received);
  for (const auto& wc : received) {
    if (wc.status != WcStatus::kSuccess) continue;
    CHECK(wc.byte_len == 300);
    CHECK(std::memcmp(run.inbox->address + (wc.wr_id - 1) * 300,
                      run.mine->address + (wc.wr_id - 1) * 300, 300) == 0);
    // Everything that was posted before that Send has been placed. [VRB-44]
    CHECK(same(run.mine, run.theirs, 700));
  }
  if (sent.size() == 4 && sent[1].status == WcStatus::kSuccess) {
    CHECK(same(run.mine, run.back, 700));
  }
  for (End* end : {pair.a.get(), pair.b.get()}) {
    CHECK(end->guards_intact());
    CHECK(end->connection->receive_plan().empty());
    CHECK(end->connection->transmit_plan(8, end->now).empty());
    CHECK_FALSE(end->connection->timeout().has_value());
    while (end->event()) {
    }
  }
  return whole;
}

}  // namespace

TEST_CASE(
    "a reset at any octet flushes unfinished requests in order, and corrupts nothing [DDP-3] "
    "[DDP-62] [DDP-63] [RDMAP-86] [VRB-14] [MPA-108]") {
  for (const Plan& plan : plans()) {
    std::size_t at = 0;
    while (!run_with_reset(plan, at)) {
      CAPTURE(at);
      REQUIRE(++at < 10'000);
    }
    CHECK(at > 1000);  // The scenario has more than 1000 octets.
  }
}
