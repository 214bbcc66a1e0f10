// SPDX-License-Identifier: Apache-2.0
// Tests requests that complete when the peer has placed them: what makes an end request an
// acknowledgement, which requests the answer completes, and in which order. The tests of requests
// that the peer refuses are in faults.cpp.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

// [IBV-300]
TEST_CASE("a Write completes when the peer has placed it, not when sent [RDMAP-41] [VRB-45]") {
  auto [pair, mine, theirs] = Ready(5000, acknowledged(), {}, {.seed = 5, .max_segment = 700});
  fill_pattern(mine);
  post_write(*pair.a, 1, sge(mine, 0, 5000), remote(theirs));
  std::vector<WorkCompletion> done;
  while (done.empty() && pair.step()) {
    done = pair.a->completions();
    if (!done.empty()) CHECK(same(mine, theirs, 5000));
  }
  CHECK(text(done) == "1 success");
  CHECK(collapsed(opcodes(pair.to_b)) == "01");
  CHECK(opcodes(pair.to_a) == "2");
}

TEST_CASE("one acknowledging Read covers all requests that gathered before it") {
  auto [pair, mine, theirs] = Ready(64, acknowledged(), {});
  SUBCASE("a list with one signaled request") {
    for (std::uint64_t id = 1; id <= 8; ++id) {
      post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs),
                 id == 8 ? SendFlags::kSignaled : SendFlags::kNone);
    }
    pair.run();
    CHECK(opcodes(pair.to_b) == "000000001");
    CHECK(text(pair.a->completions()) == "8 success");
  }
  SUBCASE("all signaled: one Read at a time is outstanding, and the next covers the rest") {
    for (std::uint64_t id = 1; id <= 8; ++id)
      post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs));
    pair.run();
    CHECK(opcodes(pair.to_b) == "0100000001");
    CHECK(pair.a->completions().size() == 8);
  }
  SUBCASE("none signaled: none") {
    for (std::uint64_t id = 1; id <= 8; ++id) {
      post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs), SendFlags::kNone);
    }
    pair.run();
    CHECK(opcodes(pair.to_b) == "00000000");
    CHECK(pair.a->qp->query().send_outstanding == 0);
  }
}

TEST_CASE("large Writes are acknowledged in parts, so that sending never stalls") {
  constexpr std::size_t kSize = 64 * 1024;
  auto [pair, mine, theirs] = Ready(kSize, acknowledged(), acknowledged());
  for (std::uint64_t id = 0; id < 16; ++id)
    post_write(*pair.a, id, sge(mine, 0, kSize), remote(theirs));
  // Sends everything that `a` may send before it receives an answer.
  while (pair.to_b.send() != 0) {
  }
  const auto sent = opcodes(pair.to_b);
  CHECK(std::count(sent.begin(), sent.end(), '1') == 4);
  pair.run();
  const auto done = pair.a->completions();
  REQUIRE(done.size() == 16);
  CHECK(done.back().status == WcStatus::kSuccess);
  CHECK(same(mine, theirs, kSize));
}

TEST_CASE("the program's own Read or atomic acknowledges the requests before it") {
  auto [pair, mine, theirs] = Ready(64, acknowledged(), {});
  post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
  post_read(*pair.a, 2, sge(mine, 8, 8), remote(theirs));
  post_write(*pair.a, 3, sge(mine, 0, 8), remote(theirs));
  post_fetch_add(*pair.a, 4, sge(mine, 16, 8), remote(theirs), 1);
  CHECK(completed(pair) == "1 success, 2 success, 3 success, 4 success");
  CHECK(opcodes(pair.to_b).find('1') == opcodes(pair.to_b).rfind('1'));
}

TEST_CASE("the program can use the Read depth it requested; the stack's Reads are additional") {
  Pair pair(acknowledged(2), {});
  REQUIRE(pair.establish(8, 8));
  CHECK(pair.a->connection->startup().negotiated().ord == 6);
  CHECK(pair.a->qp->query().ord == 2);
}

TEST_CASE("if the peer answers only the requested number of Reads, both kinds take turns") {
  Pair pair(acknowledged(4), {});
  REQUIRE(pair.establish(1, 1));
  CHECK(pair.a->qp->query().ord == 1);
  const auto [mine, theirs] = regions(pair, 64);
  for (std::uint64_t id = 0; id < 40; id += 4) {
    post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs));
    post_read(*pair.a, id + 1, sge(mine, 8, 8), remote(theirs));
    post_read(*pair.a, id + 2, sge(mine, 8, 8), remote(theirs));
    post_write(*pair.a, id + 3, sge(mine, 0, 8), remote(theirs));
  }
  pair.run();
  const auto done = pair.a->completions();
  REQUIRE(done.size() == 40);
  for (const auto& wc : done) CHECK(wc.status == WcStatus::kSuccess);
  CHECK(pair.b->qp->state() == QpState::kRts);
}

TEST_CASE("revision 1 negotiates no ORD: the program limits the stack's Reads [RDMAP-83]") {
  ConnectionOptions options = acknowledged(1);
  options.startup.revision = 1;
  Pair pair(options, {});
  REQUIRE(pair.establish(1, 1));
  const auto [mine, theirs] = regions(pair, 64);
  for (std::uint64_t id = 1; id <= 8; ++id) {
    post_write(*pair.a, id, sge(mine, 0, 8), remote(theirs));
    post_read(*pair.a, id, sge(mine, 8, 8), remote(theirs));
  }
  pair.run();
  CHECK(pair.a->completions().size() == 16);
  CHECK(pair.b->qp->state() == QpState::kRts);
}

TEST_CASE("if a peer answers no Reads, requests complete when they have been sent") {
  Pair pair(acknowledged(), {});
  REQUIRE(pair.establish(0, 0));
  const auto [mine, theirs] = regions(pair, 64);
  post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
  CHECK(completed(pair) == "1 success");
  CHECK(opcodes(pair.to_b) == "0");
}

TEST_CASE("two ends request acknowledgements even if neither program uses Reads") {
  Pair pair(acknowledged(0, 0), acknowledged(0, 0));
  REQUIRE(pair.establish(0, 0));
  CHECK(pair.a->qp->query().ord == 0);
  CHECK(pair.b->qp->query().ord == 0);
  for (const bool forth : {true, false}) {
    End& from = forth ? *pair.a : *pair.b;
    End& to = forth ? *pair.b : *pair.a;
    Region* mine = from.memory(64, kEverything);
    Region* theirs = to.memory(64, kEverything);
    post_write(from, 1, sge(mine, 0, 8), remote(theirs));
    pair.run();
    CHECK(text(from.completions()) == "1 success");
  }
  CHECK(opcodes(pair.to_b).find('2') != std::string::npos);
}

TEST_CASE("a local request completes, or is fenced, after the Writes before it [VRB-50]") {
  for (const auto fence : {SendFlags::kNone, SendFlags::kLocalFence}) {
    auto [pair, mine, theirs] = Ready(64, acknowledged());
    Region* window = pair.a->memory(64, kEverything, true);
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs), SendFlags::kNone);
    post_local_invalidate(*pair.a, 2, stag_of(window), SendFlags::kSignaled | fence);
    CHECK(completed(pair) == "2 success");
    CHECK(opcodes(pair.to_b) == "01");
  }
}

TEST_CASE("unsignaled requests do not prevent an orderly close [DDP-56]") {
  for (const bool ours : {true, false}) {
    auto [pair, mine, theirs] = Ready(64, acknowledged(), {});
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
    post_write(*pair.a, 2, sge(mine, 0, 8), remote(theirs), SendFlags::kNone);
    if (!ours) pair.run();
    CHECK(!(ours ? pair.a : pair.b)->qp->disconnect());
    CHECK(completed(pair) == "1 success");
    CHECK(are_both_in(pair, QpState::kIdle));
  }
}
