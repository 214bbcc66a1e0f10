// SPDX-License-Identifier: Apache-2.0
// Tests FetchAdd and CmpSwap between two queue pairs: their results, order, limits and fences (RFC
// 7306 sections 5 and 7).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

TEST_CASE("FetchAdd and CmpSwap are sent with their masks [EXT-12, EXT-14, EXT-23]") {
  Connected pair;
  Region* old = pair.a->memory(64, Access::kLocalWrite);
  Region* theirs = pair.b->memory(16, kEverything);
  set_word(theirs, 0x00000001FFFFFFFF);
  set_word(theirs, 0x1234, 8);
  const Sge first = sge(old, 0, 8);
  post(*pair.a, {.wr_id = 1,
                 .opcode = WrOpcode::kFetchAdd,
                 .sgl = {&first, 1},
                 .remote = remote(theirs),
                 .atomic = {.add_or_swap = 0x0000000100000001,
                            .add_mask = 0x8000000080000000,
                            .swap_mask = 5,
                            .compare = 6,
                            .compare_mask = 7}});  // FetchAdd ignores the last three fields.
  const Sge second = sge(old, 8, 8);
  post(*pair.a, {.wr_id = 2,
                 .opcode = WrOpcode::kCmpSwap,
                 .sgl = {&second, 1},
                 .remote = remote(theirs, 8),
                 .atomic = {.add_or_swap = 0xFFFF,
                            .add_mask = 1,  // CmpSwap ignores this field.
                            .swap_mask = 0xFF00,
                            .compare = 0x34,
                            .compare_mask = 0xFF}});
  pair.run();
  CHECK(word(theirs) == 0x0000000200000000);
  CHECK(word(theirs, 8) == 0xFF34);
  CHECK(word(old) == 0x00000001FFFFFFFF);
  CHECK(word(old, 8) == 0x1234);
  CHECK(pair.a->completions().empty());  // The request is not signaled.
}

TEST_CASE(
    "Reads and atomics in any mixture are executed in the order posted [EXT-29] [EXT-30] [EXT-39] "
    "[EXT-44] [EXT-48] [EXT-56] [EXT-57]") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Connected pair(with_ord(static_cast<std::uint16_t>(1 + seed % 7)), {},
                   {.seed = seed, .max_segment = seed % 2 == 0 ? 97U : 5000U});
    constexpr std::size_t kCount = 60;
    Region* old = pair.a->memory(kCount * 8, Access::kLocalWrite);
    Region* theirs = pair.b->memory(8, kEverything);
    std::vector<std::uint64_t> expected;
    std::uint64_t value = 0;
    std::string letters;
    for (std::size_t i = 0; i < kCount; ++i) {
      const Sge to = sge(old, i * 8, 8);
      expected.push_back(value);
      letters += random() % 3 == 0 ? '1' : 'a';
      if (letters.back() == '1') {
        post_read(*pair.a, i, to, remote(theirs));
      } else if (random() % 2 == 0) {
        post_fetch_add(*pair.a, i, to, remote(theirs), i);
        value += i;
      } else {
        const bool equal = random() % 2 == 0;
        post_cmp_swap(*pair.a, i, to, remote(theirs), equal ? value : value + 1, i * 1000);
        if (equal) value = i * 1000;
      }
    }
    pair.run();
    for (std::size_t i = 0; i < kCount; ++i) CHECK(word(old, i * 8) == expected[i]);
    CHECK(word(theirs) == value);
    const auto done = pair.a->completions();
    REQUIRE(done.size() == kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      CHECK(done[i].wr_id == i);
      CHECK(done[i].status == WcStatus::kSuccess);
    }
    CHECK(opcodes(pair.to_b) == letters);
    std::string answers = letters;
    std::replace(answers.begin(), answers.end(), '1', '2');
    std::replace(answers.begin(), answers.end(), 'a', 'b');
    CHECK(opcodes(pair.to_a) == answers);
  }
}

TEST_CASE("an atomic completes when its response has arrived, not before [EXT-41] [EXT-47]") {
  auto [pair, mine, theirs] = Ready(8, {}, {}, {.seed = 1, .max_segment = 1});
  set_word(theirs, 5);
  post_fetch_add(*pair.a, 1, sge(mine, 0, 8), remote(theirs), 1);
  std::vector<WorkCompletion> done;
  while (done.empty()) {
    CHECK(word(mine) == 0);
    REQUIRE(pair.step());
    done = pair.a->completions();
  }
  CHECK(pair.to_a.in_flight().empty());  // The last octet of the response has reached `a`.
  CHECK(word(mine) == 5);
}

TEST_CASE("an atomic waits behind a fence, and a local fence waits for an atomic [VRB-50]") {
  Connected pair;
  const auto [mine, theirs] = regions(pair, 16, 8);
  post_read(*pair.a, 1, sge(mine, 0, 8), remote(theirs));
  post_fetch_add(*pair.a, 2, sge(mine, 8, 8), remote(theirs), 1,
                 SendFlags::kSignaled | SendFlags::kFence);
  post_local_invalidate(*pair.a, 3, stag_of(mine), SendFlags::kSignaled | SendFlags::kLocalFence);
  pair.step();
  CHECK(opcodes(pair.to_b) == "1");
  CHECK(completed(pair) == "1 success, 2 success, 3 success");
  CHECK_FALSE(mine->valid.load());
}

TEST_CASE("ORD limits Reads and atomics together, and up to ORD are in flight [EXT-35] [VRB-23]") {
  for (const std::uint16_t ord : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{5}}) {
    Connected pair(with_ord(ord), {});
    const auto [mine, theirs] = regions(pair, 800, 8);
    for (std::uint64_t id = 0; id < 100; ++id) {
      post_answered(*pair.a, id % 3 != 0, id, sge(mine, id * 8, 8), remote(theirs));
    }
    pair.step();
    CHECK(opcodes(pair.to_b).size() == ord);
    pair.run();
    CHECK(pair.a->completions().size() == 100);
    CHECK(word(theirs) == 66);
  }
}
