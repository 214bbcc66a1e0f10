// SPDX-License-Identifier: Apache-2.0
// Deregisters a region while messages are partly sent or placed. Nothing may access the region
// afterwards, and the stream must send the required Terminate (RFC 5042 section 6.2.2, verbs draft
// 7.10.4.1).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

/// Returns a connected pair that sends large segments in pieces of `piece` octets, and its regions.
Ready ready(std::size_t size, bool crc = true, std::size_t piece = 5000) {
  const auto large = with_crc(crc, {.max_ulpdu = 60'000});
  return Ready(size, large, large, {.seed = 2, .max_segment = piece});
}

void step_until(Pair& pair, auto&& condition) {
  for (int i = 0; i < 100'000 && !condition(); ++i) pair.step();
  REQUIRE(condition());
}

}  // namespace

TEST_CASE("the source of a partly sent Write: the rest is not sent [VRB-20, VRB-37, SEC-14]") {
  for (const bool crc : {true, false}) {
    const std::size_t size = 3'000'000;
    auto [pair, mine, theirs] = ready(size, crc);
    fill_pattern(mine);
    post_write(*pair.a, 1, sge(mine, 0, size), remote(theirs));
    step_until(pair, [&] { return pair.to_b.log.size() > 100'000; });
    destroy(*pair.a, mine);
    reuse(mine);
    check_refused(pair, *pair.a, "0/0/00");
    CHECK(pair.a->connection->incidents().pins_broken == 1);
    CHECK(pair.b->connection->incidents().pins_broken == 0);
    CHECK(text(pair.a->completions()) == "1 local protection error");
    // The peer has received only the old contents, so no octet was sent after the deregistration.
    std::size_t arrived = 0;
    while (arrived < size && theirs->address[arrived] == pattern(arrived)) ++arrived;
    CHECK(arrived >= 50'000);
    CHECK(all_zero(theirs, arrived));
  }
}

TEST_CASE("nothing reads the memory of a flushed request that was partly sent [VRB-14, VRB-20]") {
  for (const bool by_terminate : {false, true}) {
    const std::size_t size = 3'000'000;
    auto [pair, mine, theirs] = ready(size, false);
    const std::vector<std::byte> others(16, std::byte{0xDD});
    pair.a->on_notify = [mine] { reuse(mine); };
    pair.a->cq.arm(verbs::Notify::kNext);
    post_write(*pair.a, 1, sge(mine, 0, size), remote(theirs));
    step_until(pair, [&] { return pair.to_b.log.size() > 100'000; });
    if (by_terminate) {
      destroy(*pair.b, theirs);
    } else {
      pair.a->connection->peer_closed(pair.a->now);
    }
    pair.run();
    CHECK(pair.a->notifications == 1);
    CHECK(pair.a->qp->state() == QpState::kError);
    CHECK(mine->address[0] == others[0]);
    CHECK(std::ranges::search(pair.to_b.log, others).empty());
  }
}

TEST_CASE("the source of a completely framed Write: it completes with its old contents") {
  auto [pair, mine, theirs] = ready(20'000, true, 900);
  fill_pattern(mine);
  post_write(*pair.a, 1, sge(mine, 0, 20'000), remote(theirs));
  pair.a->connection->transmit_plan(64, pair.a->now);
  destroy(*pair.a, mine);
  reuse(mine);
  pair.run();
  CHECK(pair.a->qp->state() == QpState::kRts);
  CHECK(text(pair.a->completions()) == "1 success");
  CHECK(has_pattern(theirs));
}

TEST_CASE("the sink of outstanding Reads: one protection error, then flushes [VRB-14] [VRB-37]") {
  for (const bool crc : {true, false}) {
    auto [pair, mine, theirs] = ready(400'000, crc);
    fill_pattern(theirs);
    for (std::uint64_t id = 1; id < 5; ++id) {
      post_read(*pair.a, id, sge(mine, (id - 1) * 100'000, 100'000), remote(theirs));
    }
    step_until(pair, [&] { return pair.to_a.log.size() > 150'000; });
    destroy(*pair.a, mine);
    reuse(mine);
    pair.run();
    CHECK(pair.a->qp->state() == QpState::kError);
    CHECK(text(pair.a->completions()) ==
          "1 success, 2 local protection error, 3 work request flushed, 4 work request flushed");
    CHECK(is_reused(mine));
  }
}

TEST_CASE("the target of a partly placed Write: the rest is 1/1/00 [VRB-37, DDP-98, RDMAP-112]") {
  for (const bool crc : {true, false}) {
    for (const std::size_t size : {std::size_t{59'000}, std::size_t{2'000'000}}) {
      auto [pair, mine, theirs] = ready(size, crc);
      fill_pattern(mine);
      let_responder_send(pair);
      const auto before = pair.to_b.log.size();
      post_write(*pair.a, 2, sge(mine, 0, size), remote(theirs));
      step_until(pair, [&] { return pair.to_b.log.size() > before + 20'000; });
      destroy(*pair.b, theirs);
      reuse(theirs);
      check_refused(pair, *pair.b, "1/1/00");
      CHECK(is_reused(theirs));
    }
  }
}

TEST_CASE("the buffer of a partly received Send: a Terminate without STag [VRB-37, RDMAP-92]") {
  for (const bool crc : {true, false}) {
    for (const std::size_t size : {std::size_t{59'000}, std::size_t{500'000}}) {
      INFO("crc ", crc, ", size ", size);
      auto [pair, mine, inbox] = ready(size, crc);
      fill_pattern(mine);
      post_recv(*pair.b, 10, sge(inbox, 0, size));
      let_responder_send(pair);
      const auto before = pair.to_b.log.size();
      post_send(*pair.a, 2, sge(mine, 0, size));
      const auto wait = size < 60'000 ? std::size_t{20'000} : std::size_t{150'000};
      step_until(pair, [&] { return pair.to_b.log.size() > before + wait; });
      destroy(*pair.b, inbox);
      reuse(inbox);
      pair.run();
      // If nothing of the Send has been placed yet, the receive has no memory when the Send
      // completes: 1/0/00.
      const bool nothing_placed = crc && size < 60'000;
      check_refused(pair, *pair.b, nothing_placed ? "1/0/00" : "0/0/00");
      CHECK(is_reused(inbox));
      CHECK(text(pair.b->completions()) ==
            (nothing_placed ? "10 local protection error" : "10 work request flushed"));
    }
  }
}

TEST_CASE("a region that no request uses can be deregistered at any time") {
  auto [pair, mine, theirs] = ready(100'000);
  Region* idle = pair.a->memory(100'000, kEverything);
  fill_pattern(mine);
  post_write(*pair.a, 1, sge(mine, 0, 100'000), remote(theirs));
  for (int i = 0; i < 5; ++i) pair.step();
  pair.a->connection->revoke(*idle, pair.a->now);
  destroy(*pair.a, idle);
  CHECK(completed(pair) == "1 success");
  CHECK(same(mine, theirs, 100'000));
}

TEST_CASE("the memory of a flushed request can be reused at once [VRB-14, VRB-20]") {
  auto [pair, mine, theirs] = ready(59'000, true, 3000);
  fill_pattern(mine);
  post_write(*pair.a, 1, sge(mine, 0, 59'000), remote(theirs));
  step_until(pair, [&] { return pair.to_b.log.size() > 20'000; });
  CHECK(!pair.a->qp->terminate());
  CHECK(text(pair.a->completions()) == "1 work request flushed");
  reuse(mine);
  check_refused(pair, *pair.a, "0/0/00");  // The segment before the Terminate was well formed.
  CHECK(has_pattern(theirs));
}
