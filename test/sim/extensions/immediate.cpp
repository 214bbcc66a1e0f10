// SPDX-License-Identifier: Apache-2.0
// Tests Immediate Data, both on its own and after an RDMA Write (RFC 7306 section 6).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

TEST_CASE("an Immediate completes a receive and touches no buffer [EXT-49] [EXT-50] [EXT-52]") {
  Connected pair;
  Region* inbox = pair.b->memory(64, Access::kLocalWrite);
  post_recv(*pair.b, 10, sge(inbox, 0, 64));
  REQUIRE(!pair.b->qp->post_recv({.wr_id = 11, .sgl = {}}));  // An Immediate needs no buffer.
  post_immediate(*pair.a, 1, 0x0102030405060708);
  post_immediate(*pair.a, 2, ~0ULL, SendFlags::kSignaled | SendFlags::kSolicited);
  pair.run();
  const auto sent = pair.a->completions();
  CHECK(text(sent) == "1 success, 2 success");
  CHECK(sent[0].opcode == WcOpcode::kSend);
  const auto got = pair.b->completions();
  CHECK(text(got) == "10 success, 11 success");
  CHECK(got[0].opcode == WcOpcode::kRecvImmediate);
  CHECK(got[0].immediate == 0x0102030405060708);
  CHECK(got[0].byte_len == 0);
  CHECK_FALSE(got[0].solicited);
  CHECK(got[1].immediate == ~0ULL);
  CHECK(got[1].solicited);
  CHECK(all_zero(inbox));
  CHECK(opcodes(pair.to_b) == "89");
}

TEST_CASE("a Write with Immediate is one completion, after its data is in place [EXT-53, EXT-55]") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{40'000}}) {
    for (const bool crc : {true, false}) {
      CAPTURE(size);
      const auto options = with_crc(crc, {.max_ulpdu = 1024});
      auto [pair, mine, theirs] = Ready(40'000, options, options, {.seed = 5, .max_segment = 700});
      fill_pattern(mine);
      REQUIRE(!pair.b->qp->post_recv({.wr_id = 10, .sgl = {}}));
      post_write_immediate(*pair.a, 1, sge(mine, 0, size), remote(theirs), 77);
      std::vector<WorkCompletion> got;
      while (got.empty()) {
        REQUIRE(pair.step());
        got = pair.b->completions();
      }
      CHECK(same(mine, theirs, size));  // All data has been placed when the receive completes.
      CHECK(got[0].opcode == WcOpcode::kRecvImmediate);
      CHECK(got[0].immediate == 77);
      CHECK(got[0].byte_len == 0);
      CHECK(got[0].written == size);
      pair.run();
      const auto done = pair.a->completions();
      CHECK(text(done) == "1 success");
      CHECK(done[0].opcode == WcOpcode::kWrite);
      CHECK(opcodes(pair.to_b).find_first_not_of('0') == opcodes(pair.to_b).size() - 1);
      CHECK(opcodes(pair.to_b).back() == '8');
    }
  }
}

TEST_CASE("the completion of an Immediate includes the length of the Write before it") {
  auto [pair, mine, theirs] = Ready(40'000);
  const auto write = [&](std::size_t at, std::size_t size) {
    post_write(*pair.a, 1, sge(mine, at, size), remote(theirs, at), SendFlags::kNone);
  };
  const auto written = [&] {
    REQUIRE(!pair.b->qp->post_recv({.wr_id = 10, .sgl = {}}));
    post_immediate(*pair.a, 2, ~0ULL);
    pair.run();
    const auto got = pair.b->completions();
    REQUIRE(got.size() == 1);
    return got[0].written;
  };
  write(0, 10'000);
  write(10'000, 50);
  CHECK(written() == 10'050);
  CHECK(written() == 0);
  write(10'050, 7);  // This Write begins where the data of the last Immediate ends.
  CHECK(written() == 7);
  write(500, 10);
  write(0, 20);
  CHECK(written() == 20);
  write(500, 10);
  post_recv(*pair.b, 11, sge(theirs, 0, 64));
  post_send(*pair.a, 3, sge(mine, 0, 64));
  CHECK(completed(pair, *pair.b) == "11 success");
  CHECK(written() == 0);
}

TEST_CASE("only answers come between a Write and its Immediate [EXT-51, EXT-53]") {
  const ConnectionOptions options{.max_ulpdu = 256};
  auto [pair, mine, theirs] = Ready(4000, options, options, {.seed = 6, .max_segment = 500});
  for (std::uint64_t id = 0; id < 40; ++id) {
    REQUIRE(!pair.b->qp->post_recv({.wr_id = id, .sgl = {}}));
    post_write_immediate(*pair.a, id, sge(mine, 0, 100 + id * 10), remote(theirs), id,
                         id % 2 == 0 ? SendFlags::kSignaled : SendFlags::kNone);
    post_write(*pair.a, 100 + id, sge(mine, 0, 300), remote(theirs), SendFlags::kNone);
    post_read(*pair.b, id, sge(theirs, 3000, 900), remote(mine));
  }
  pair.run();
  std::string requests = opcodes(pair.to_b);
  std::erase(requests, '2');
  std::string expected;
  const auto segments = [](std::size_t octets) { return (octets + 241) / 242; };
  for (std::size_t id = 0; id < 40; ++id) {
    expected += std::string(segments(100 + id * 10), '0') + "8" + std::string(segments(300), '0');
  }
  CHECK(requests == expected);
  CHECK(pair.a->completions().size() == 20);
  const auto got = pair.b->completions();
  std::uint64_t next = 0;
  for (const auto& wc : got) {
    if (wc.opcode == WcOpcode::kRecvImmediate) CHECK(wc.immediate == next++);
  }
  CHECK(next == 40);
}

TEST_CASE("the source of a Write may be deregistered while its Immediate waits") {
  auto [pair, mine, theirs] = Ready(64, {}, {}, {.seed = 1, .max_segment = 10});
  fill_pattern(mine);
  REQUIRE(!pair.b->qp->post_recv({.wr_id = 10, .sgl = {}}));
  post_write_immediate(*pair.a, 1, sge(mine, 0, 64), remote(theirs), 8);
  pair.a->connection->transmit_plan(64, pair.a->now);
  destroy(*pair.a, mine);
  reuse(mine);
  CHECK(completed(pair) == "1 success");
  CHECK(text(pair.b->completions()) == "10 success");
  CHECK(has_pattern(theirs));
}
