// SPDX-License-Identifier: Apache-2.0
// Tests the send queue: when each request starts, in which order requests complete, and what is
// copied when a request is posted (verbs draft sections 8.1 and 8.2).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

std::string ids(const std::vector<WorkCompletion>& list) {
  std::string out;
  for (const auto& wc : list) {
    CHECK(wc.status == WcStatus::kSuccess);
    out += std::to_string(wc.wr_id) + " ";
  }
  return out;
}

}  // namespace

// [IBV-476]
TEST_CASE(
    "forty Reads over an ORD of four are all accepted, wait, and complete in order [VRB-23] "
    "[RDMAP-82] [RDMAP-83] [RDMAP-68] [RDMAP-73] [RDMAP-78]") {
  Connected pair(with_ord(4), {}, {.seed = 9, .max_segment = 300});
  Region* mine = pair.a->memory(40 * 100, Access::kLocalWrite);
  Region* theirs = pair.b->memory(40 * 100, Access::kRemoteRead);
  fill_pattern(theirs);
  std::string expected;
  for (std::uint64_t id = 0; id < 40; ++id) {
    post_read(*pair.a, id, sge(mine, id * 100, 100), remote(theirs, id * 100));
    expected += std::to_string(id) + " ";
  }
  CHECK(pair.a->qp->query().send_outstanding == 40);
  std::string done;
  for (int i = 0; i < 10'000 && done.size() < expected.size(); ++i) {
    pair.step();
    done += ids(pair.a->completions());
  }
  CHECK(done == expected);
  CHECK(same(mine, theirs, 4000));
  CHECK(pair.b->completions().empty());  // The responder's program never sees the Read. [RDMAP-32]
}

// [IBV-522]
TEST_CASE("a fenced Send starts only when the Reads and atomics before it are complete [VRB-50]") {
  struct Row {
    bool atomic;
    bool immediate;
    std::string opcodes;  ///< of the first burst without a fence
  };
  for (const Row& row :
       {Row{false, false, "13"}, Row{true, false, "a3"}, Row{false, true, "183"}}) {
    for (const bool fence : {true, false}) {
      INFO("opcodes ", row.opcodes, ", fence ", fence);
      auto [pair, mine, theirs] = Ready(64, together(), together());
      post_recv(*pair.b, 10, sge(theirs, 32, 32));
      set_word(theirs, 42);
      post_answered(*pair.a, row.atomic, 1, sge(mine, 0, 8), remote(theirs));
      // Sends the octets that the first request fetches. Without the fence, the Send may still
      // contain the old octets.
      const Sge from = sge(mine, 0, 8);
      const auto flags = SendFlags::kSignaled | (fence ? SendFlags::kFence : SendFlags::kNone);
      row.immediate ? post_send_immediate(*pair.a, 2, {&from, 1}, 7, flags)
                    : post_send(*pair.a, 2, from, flags);
      pair.step();
      CHECK(opcodes(pair.to_b) == (fence ? row.opcodes.substr(0, 1) : row.opcodes));
      CHECK(completed(pair) == "1 success, 2 success");
      CHECK(text(pair.b->completions()) == "10 success");
      if (fence) CHECK(word(theirs, 32) == 42);
    }
  }
}

TEST_CASE("a local fence waits for everything before it [VRB-50]") {
  Connected pair;
  Region* mine = pair.a->memory(64, kEverything);
  const auto [other, theirs] = regions(pair, 64);
  post_read(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
  post_local_invalidate(*pair.a, 2, stag_of(other), SendFlags::kSignaled | SendFlags::kLocalFence);
  pair.a->connection->transmit_plan(64, pair.a->now);
  CHECK(other->valid.load());  // The invalidation waits because the Read is outstanding.
  pair.run();
  CHECK_FALSE(other->valid.load());
  CHECK(ids(pair.a->completions()) == "1 2 ");
}

// [IBV-507, IBV-508, IBV-544]
TEST_CASE("lists of sixteen elements are gathered and scattered octet for octet [VRB-40]") {
  const verbs::QpInit init{.limits = {.max_send_sge = 16, .max_recv_sge = 16}};
  Connected pair({}, {}, {.seed = 8, .max_segment = 333}, init, init);
  Region* from = pair.a->memory(5000, Access::kNone);
  Region* to = pair.b->memory(5000, Access::kLocalWrite);
  fill_pattern(from);
  std::vector<Sge> source;
  std::vector<Sge> sink;
  std::size_t at = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    source.push_back(sge(from, at, i * 31 % 97));  // The first element is empty.
    at += i * 31 % 97;
  }
  std::size_t there = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    sink.push_back(sge(to, there, (i + 5) * 17 % 89));
    there += (i + 5) * 17 % 89;
  }
  sink.back().length += static_cast<std::uint32_t>(at);
  REQUIRE(!pair.b->qp->post_recv({.wr_id = 9, .sgl = sink}));
  post(*pair.a, {.wr_id = 1, .flags = SendFlags::kSignaled, .sgl = source});
  CHECK(completed(pair) == "1 success");
  const auto received = pair.b->completions();
  REQUIRE(received.size() == 1);
  CHECK(received[0].byte_len == at);
  CHECK(same(from, to, at));
  CHECK(to->address[at] == std::byte{0});
}

// [IBV-458]
TEST_CASE("requests posted before the connection exists wait for it [VRB-6]") {
  Pair pair;
  const auto [mine, inbox] = regions(pair, 64);
  post_recv(*pair.b, 10, sge(inbox, 0, 64));
  post_send(*pair.a, 1, sge(mine, 0, 5));
  CHECK(pair.a->completions().empty());
  CHECK(pair.a->qp->query().send_outstanding == 1);
  REQUIRE(pair.establish());
  CHECK(text(pair.a->completions()) == "1 success");
  CHECK(text(pair.b->completions()) == "10 success");
}

// [IBV-226, IBV-525]
TEST_CASE("a solicited Send or Immediate is marked, and notifies [RDMAP-53, EXT-55, VRB-52]") {
  for (const auto opcode : {WrOpcode::kSend, WrOpcode::kSendImmediate, WrOpcode::kImmediate}) {
    auto [pair, mine, inbox] = Ready(64, together(), together());
    const Sge from = sge(mine, 0, 8);
    const std::span list(&from, opcode == WrOpcode::kImmediate ? 0U : 1U);
    post_recv(*pair.b, 10, sge(inbox, 0, 8));
    post_recv(*pair.b, 11, sge(inbox, 8, 8));
    pair.b->cq.arm(verbs::Notify::kSolicited);
    post(*pair.a, {.opcode = opcode, .sgl = list});
    pair.run();
    CHECK(pair.b->notifications == 0);
    post(*pair.a, {.opcode = opcode, .flags = SendFlags::kSolicited, .sgl = list});
    pair.run();
    CHECK(pair.b->notifications == 1);
    const auto received = pair.b->completions();
    REQUIRE(received.size() == 2);
    CHECK_FALSE(received[0].solicited);
    CHECK(received[1].solicited);
  }
}
