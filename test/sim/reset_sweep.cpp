// SPDX-License-Identifier: Apache-2.0
// Breaks the link at every octet of a session, also within the startup frame, and checks the
// completions and that both connections are then at rest. The chaos test breaks links only after
// the startup frame, at random octets, but also checks memory and results.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

void post_all(Pair& pair) {
  const auto [mine, theirs] = regions(pair, 700);
  for (std::uint64_t id = 1; id <= 4; ++id) post_recv(*pair.b, id, sge(theirs, 0, 300));
  post_write(*pair.a, 1, sge(mine, 0, 700), remote(theirs));
  post_read(*pair.a, 2, sge(mine, 0, 700), remote(theirs));
  post_send(*pair.a, 3, sge(mine, 0, 300));
  post_fetch_add(*pair.a, 4, sge(mine, 0, 8), remote(theirs), 1);
  post_write_immediate(*pair.a, 5, sge(mine, 0, 300), remote(theirs), 1);
  post_immediate(*pair.a, 6, 2);
  const Sge from = sge(mine, 0, 300);
  post_send_immediate(*pair.a, 7, {&from, 1}, 3);
}

/// Checks that each request has one completion, in order, and that every completion after the first
/// flushed one is also flushed.
void check_completions(End& end, std::size_t count) {
  const auto list = end.completions();
  REQUIRE(list.size() == count);
  bool flushed = false;
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(list[i].wr_id == i + 1);
    flushed |= list[i].status == WcStatus::kWrFlush;
    CHECK(list[i].status == (flushed ? WcStatus::kWrFlush : WcStatus::kSuccess));
  }
}

/// Runs a session whose link breaks at octet `at`. Returns whether the session ended before that.
bool run_with_reset(const ConnectionOptions& options, std::size_t max_segment, std::size_t at) {
  Pair pair(options, options, {.seed = 3, .max_segment = max_segment, .reset_at = at});
  post_all(pair);
  const bool connected = pair.establish();
  const bool whole = pair.to_b.log.size() < at;
  pair.a->connection->lost(pair.a->now);
  pair.b->connection->lost(pair.b->now);
  // A queue pair that was never connected keeps its requests until abort() flushes them.
  CHECK((pair.a->qp->state() == QpState::kError || !connected));
  for (End* end : {pair.a.get(), pair.b.get()}) {
    CHECK(!end->qp->abort());
    check_completions(*end, end == pair.a.get() ? 7 : 4);
    CHECK(end->guards_intact());
    CHECK(end->connection->receive_plan().empty());
    CHECK(end->connection->transmit_plan(8, end->now).empty());
    CHECK_FALSE(end->connection->timeout().has_value());
  }
  return whole;
}

}  // namespace

TEST_CASE(
    "a reset at any octet flushes unfinished requests in order, and leaves nothing to do [DDP-3] "
    "[DDP-62] [DDP-63] [RDMAP-86] [VRB-14] [MPA-108]") {
  for (const bool is_protected : {true, false}) {
    ConnectionOptions options;
    options.startup.crc = options.startup.markers = is_protected;
    options.startup.rtr = is_protected ? mpa::Rtr::kRead : mpa::Rtr::kNone;
    options.startup.send_immediate = true;
    options.max_ulpdu = 256;
    std::size_t at = 0;
    while (!run_with_reset(options, options.startup.crc ? 61 : 1000, at)) {
      CAPTURE(at);
      REQUIRE(++at < 10'000);
    }
    CHECK(at > 1000);  // The session has more than 1000 octets.
  }
}
