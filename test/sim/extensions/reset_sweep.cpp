// SPDX-License-Identifier: Apache-2.0
// Breaks the link at every octet of a session with atomics and Immediates. All requests must
// complete in order, each atomic must be executed at most once, and every reported result must be
// correct.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::uint64_t kAdds = 4;

struct ExtensionsRun {
  explicit ExtensionsRun(Pair& pair) : p(pair) {
    old = p.a->memory(kAdds * 8, kEverything);
    mine = p.a->memory(300, kEverything);
    theirs = p.b->memory(308, kEverything);
    fill_pattern(mine);
  }
  void post_all() {
    for (std::uint64_t id = 1; id <= 2; ++id) {
      REQUIRE(!p.b->qp->post_recv({.wr_id = id, .sgl = {}}));
    }
    post_fetch_add(*p.a, 1, sge(old, 0, 8), remote(theirs), 1);
    post_fetch_add(*p.a, 2, sge(old, 8, 8), remote(theirs), 1);
    post_write_immediate(*p.a, 3, sge(mine, 0, 300), remote(theirs, 8), 1);
    post_fetch_add(*p.a, 4, sge(old, 16, 8), remote(theirs), 1);
    post_immediate(*p.a, 5, 2);
    post_fetch_add(*p.a, 6, sge(old, 24, 8), remote(theirs), 1);
  }

  Pair& p;
  Region* old;
  Region* mine;
  Region* theirs;
};

// Checks that ids increase and that every completion after the first flushed one is also flushed.
// Returns the number of completions that succeeded.
std::size_t good_in_order(const std::vector<WorkCompletion>& list) {
  std::size_t good = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    CHECK(list[i].wr_id == i + 1);
    const bool success = list[i].status == WcStatus::kSuccess;
    CHECK((success ? good == i : list[i].status == WcStatus::kWrFlush));
    good += success ? 1 : 0;
  }
  return good;
}

// Runs a session whose link breaks at octet `at`. Returns whether the session ended before that.
bool extensions_with_reset(const ConnectionOptions& options, std::size_t max_segment,
                           std::size_t at) {
  Pair pair(options, options, {.seed = 4, .max_segment = max_segment, .reset_at = at});
  ExtensionsRun run(pair);
  run.post_all();
  pair.establish();
  const bool whole = pair.to_b.log.size() < at;
  pair.a->connection->lost(pair.a->now);
  pair.b->connection->lost(pair.b->now);
  CHECK(!pair.a->qp->abort());
  CHECK(!pair.b->qp->abort());

  const auto sent = pair.a->completions();
  const auto received = pair.b->completions();
  CHECK(sent.size() == 6);
  CHECK(received.size() == 2);
  const auto good = good_in_order(sent);
  const auto arrived = good_in_order(received);
  // The peer has executed all requests that have completed here, and may have executed more.
  const std::size_t adds = good < 3 ? good : good < 5 ? good - 1 : good - 2;
  CHECK(word(run.theirs) >= adds);
  CHECK(word(run.theirs) <= kAdds);
  for (std::size_t i = 0; i < adds; ++i) CHECK(word(run.old, i * 8) == i);
  for (std::size_t i = 0; i < arrived; ++i) {
    CHECK(received[i].opcode == WcOpcode::kRecvImmediate);
    CHECK(received[i].immediate == i + 1);
  }
  if (arrived > 0) CHECK(std::memcmp(run.theirs->address + 8, run.mine->address, 300) == 0);
  CHECK(pair.a->guards_intact());
  CHECK(pair.b->guards_intact());
  return whole;
}

}  // namespace

TEST_CASE(
    "a reset at any octet: each atomic is executed at most once, and only executed requests "
    "succeed [EXT-4] [EXT-47] [EXT-55] [VRB-14]") {
  for (const std::size_t max_segment : {std::size_t{37}, std::size_t{1000}}) {
    ConnectionOptions options;
    options.startup.markers = max_segment == 37;
    options.startup.ord = 2;
    options.max_ulpdu = 256;
    std::size_t at = 0;
    while (!extensions_with_reset(options, max_segment, at)) {
      CAPTURE(at);
      REQUIRE(++at < 10'000);
    }
    CHECK(at > 600);  // The session has more than 600 octets.
  }
}
