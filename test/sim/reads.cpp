// SPDX-License-Identifier: Apache-2.0
// Tests Reads whose sink is a list of buffers: one Read Request for each buffer, one completion for
// all, and no more Read Requests outstanding than ORD allows. Also tests that large Reads start in
// groups while earlier answers keep the peer busy, and that nothing else waits for a group.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

using Sink = std::vector<Sge>;

void post_list(End& end, std::uint64_t id, const Sink& sink, RemoteAddress from,
               SendFlags flags = SendFlags::kSignaled) {
  post(end, {.wr_id = id, .opcode = WrOpcode::kRead, .flags = flags, .sgl = sink, .remote = from});
}

/// A pair that allows lists and `reads` Reads at a time, with a source at `b` for them.
struct ListPair : Pair {
  ListPair(std::uint16_t reads, const LinkOptions& link = {}, const ConnectionOptions& options = {},
           std::size_t size = 256)
      : Pair(options, {}, link, {.limits = {.max_send_sge = bytes::kMaxSge}}),
        source(b->memory(size, kEverything)) {
    REQUIRE(establish(reads, reads));
    fill_pattern(source);
  }
  Region* const source;
  Region* const mine = a->memory(64, kEverything);
  std::vector<Region*> regions;  ///< the regions of the last list
};

// Makes a list of `count` buffers, each in its own region, with lengths 1, 2, 3 and so on. Adds an
// empty buffer without a key after every third buffer.
Sink make_sink(End& end, std::size_t count, std::vector<Region*>& regions) {
  Sink out;
  for (std::size_t i = 0; i < count; ++i) {
    regions.push_back(end.memory(i + 1, kEverything));
    out.push_back(sge(regions.back(), 0, i + 1));
    if (i % 3 == 2 && out.size() < bytes::kMaxSge - count + i) out.emplace_back();
  }
  return out;
}

bool has_source(const std::vector<Region*>& sink, const Region* source) {
  const std::byte* from = source->address;
  for (const Region* region : sink) {
    if (std::memcmp(region->address, from, region->length) != 0) return false;
    from += region->length;
  }
  return true;
}

std::vector<ConnectionOptions> both_kinds() { return {ConnectionOptions{}, acknowledged()}; }

constexpr std::size_t kLarge = 64 * 1024;
constexpr std::size_t kDepth = 16;

/// Posts Reads of one size, which the peer answers only when the test says so.
struct Reading : Connected {
  explicit Reading(std::size_t length) : size(length) {
    sink = a->memory(size, kEverything);
    source = b->memory(size, kEverything);
    // The first message of the initiator lets the responder send.
    post_write(*a, 0, sge(sink, 0, 0), {}, SendFlags::kNone);
    run();
    before = received();
  }
  void read(std::size_t length) {
    post_read(*a, ++last, sge(sink, 0, length), remote(source));
    carry(*a, *b);
  }
  std::size_t received() const { return b->connection->counters().fpdus_received; }
  /// Number of requests that have reached the peer.
  std::size_t started() const { return received() - before; }

  std::size_t size;
  std::uint64_t last = 0;
  Region* sink = nullptr;
  Region* source = nullptr;
  std::size_t before = 0;
};

}  // namespace

TEST_CASE("a Read fills a list of buffers and completes once, for any ORD [RDMAP-47] [VRB-23]") {
  for (const auto& options : both_kinds()) {
    for (const auto reads : std::initializer_list<std::uint16_t>{1, 2, 16}) {
      for (std::size_t count = 1; count <= bytes::kMaxSge; ++count) {
        CAPTURE(count);
        ListPair pair(reads, {.seed = reads, .max_segment = 70}, options);
        const Sink sink = make_sink(*pair.a, count, pair.regions);
        post_list(*pair.a, 1, sink, remote(pair.source));
        pair.run();
        const auto done = pair.a->completions();
        REQUIRE(text(done) == "1 success");
        CHECK(done[0].byte_len == count * (count + 1) / 2);
        CHECK(has_source(pair.regions, pair.source));
        // If more Reads than IRD were outstanding, the stream would end.
        CHECK(opcodes(pair.to_b) == std::string(count, '1'));
        CHECK(pair.b->qp->state() == QpState::kRts);
      }
    }
  }
}

TEST_CASE("Reads of lists complete in order among other requests, signaled or not [VRB-43]") {
  for (const auto& options : both_kinds()) {
    ListPair pair(2, {.seed = 5, .max_segment = 90}, options);
    Region* const source = pair.source;
    Region* const mine = pair.mine;
    std::vector<Region*> first;
    std::vector<Region*> second;
    post_write(*pair.a, 1, sge(mine, 0, 8), remote(source, 200));
    post_list(*pair.a, 2, make_sink(*pair.a, 5, first), remote(source), SendFlags::kNone);
    post_read(*pair.a, 3, sge(mine, 8, 8), remote(source));
    post_fetch_add(*pair.a, 4, sge(mine, 16, 8), remote(source, 208), 1);
    post_list(*pair.a, 5, make_sink(*pair.a, 7, second), remote(source));
    post_list(*pair.a, 6, {}, remote(source));
    post_write(*pair.a, 7, sge(mine, 0, 8), remote(source, 200));
    CHECK(completed(pair) == "1 success, 3 success, 4 success, 5 success, 6 success, 7 success");
    CHECK(has_source(first, source));
    CHECK(has_source(second, source));
    CHECK(pair.a->qp->query().send_outstanding == 0);
  }
}

TEST_CASE("a fence waits for every buffer of a Read before it [VRB-50]") {
  ListPair pair(4, {.seed = 9, .max_segment = 30});
  post_list(*pair.a, 1, make_sink(*pair.a, 3, pair.regions), remote(pair.source));
  post_write(*pair.a, 2, sge(pair.mine, 0, 8), remote(pair.source, 200),
             SendFlags::kSignaled | SendFlags::kFence);
  while (opcodes(pair.to_b).find('0') == std::string::npos) REQUIRE(pair.step());
  CHECK(opcodes(pair.to_b) == "1110");
  CHECK(text(pair.a->completions()).starts_with("1 success"));
}

TEST_CASE("a Read of a list that the peer refuses in part fails, and no later request succeeds") {
  for (const auto& options : both_kinds()) {
    for (std::size_t allowed = 0; allowed < 6; ++allowed) {
      CAPTURE(allowed);
      ListPair pair(8, {}, options, allowed * (allowed + 1) / 2 + 1);
      post_write(*pair.a, 1, sge(pair.mine, 0, 1), remote(pair.source));
      const Sink sink = make_sink(*pair.a, 6, pair.regions);
      post_list(*pair.a, 2, sink, remote(pair.source, allowed == 0 ? 1 : 0));
      post_write(*pair.a, 3, sge(pair.mine, 0, 1), remote(pair.source));
      pair.run();
      CHECK(received_code(*pair.a) == "0/1/01");
      CHECK(text(pair.a->completions()) ==
            "1 success, 2 remote access error, 3 work request flushed");
    }
  }
}

TEST_CASE("a Read whose list has an invalid buffer is never sent [VRB-28]") {
  for (std::size_t bad = 0; bad < 4; ++bad) {
    ListPair pair(8);
    Sink sink = make_sink(*pair.a, 3, pair.regions);
    std::erase_if(sink, [](const Sge& sge) { return sge.length == 0; });
    sink.insert(sink.begin() + static_cast<long>(bad), sge(pair.source, 0, 4));
    post_list(*pair.a, 1, sink, remote(pair.source));
    CHECK(completed(pair) == "1 local protection error");
    CHECK(opcodes(pair.to_b) == "7");
  }
}

TEST_CASE("a Read of a list completes once if the connection ends, at any moment") {
  for (const auto& options : both_kinds()) {
    for (std::size_t steps = 0; steps < 30; ++steps) {
      ListPair pair(2, {.seed = 3, .max_segment = 40}, options);
      post_list(*pair.a, 1, make_sink(*pair.a, 9, pair.regions), remote(pair.source));
      for (std::size_t i = 0; i < steps; ++i) pair.step();
      pair.a->qp->abort();
      CHECK(pair.a->completions().size() == 1);
      CHECK(pair.a->guards_intact());
    }
  }
}

TEST_CASE("invalidating a buffer of an outstanding Read's list ends the stream") {
  for (std::size_t which = 0; which < 6; ++which) {
    ListPair pair(1, {.seed = 3, .max_segment = 40});
    post_list(*pair.a, 1, make_sink(*pair.a, 6, pair.regions), remote(pair.source));
    while (opcodes(pair.to_b).empty()) REQUIRE(pair.step());
    pair.a->connection->revoke(*pair.regions[which], pair.a->now);
    CHECK(completed(pair) == "1 local protection error");
    CHECK(pair.a->qp->state() == QpState::kError);
  }
}

TEST_CASE("lowering ORD to 0 while a Read of a list is outstanding fails the Read [VRB-25]") {
  ListPair pair(1, {.seed = 3, .max_segment = 40});
  post_list(*pair.a, 1, make_sink(*pair.a, 6, pair.regions), remote(pair.source));
  while (opcodes(pair.to_b).empty()) REQUIRE(pair.step());
  CHECK(!pair.a->qp->set_ord(0));
  CHECK(completed(pair) == "1 local QP operation error");
}

TEST_CASE("the sink of a Read with Invalidate is one buffer") {
  ListPair pair(8);
  const Sink sink = make_sink(*pair.a, 2, pair.regions);
  CHECK(pair.a->qp->post_send(
            {.opcode = WrOpcode::kReadInvalidate, .sgl = sink, .remote = remote(pair.source)}) ==
        verbs::Errc::kReadNeedsOneSge);
}

TEST_CASE("large Reads start in groups of a quarter of the unanswered ones") {
  Reading pair(kLarge);
  std::string started;
  for (std::size_t i = 0; i < kDepth; ++i) {
    pair.read(kLarge);
    started += std::to_string(pair.started()) + " ";
  }
  // The first four Reads start at once and keep the peer busy. Later Reads start in groups, which
  // have at most four Reads of this size.
  CHECK(started == "1 2 3 4 4 6 6 8 8 8 11 11 11 11 15 15 ");
  CHECK(completed(pair).ends_with("16 success"));
  CHECK(pair.started() == kDepth);
}

TEST_CASE(
    "a Read waits for its group until the answers before it have arrived or a request follows it") {
  Reading pair(kLarge);
  for (std::size_t i = 0; i < 5; ++i) pair.read(kLarge);
  REQUIRE(pair.started() == 4);
  SUBCASE("earlier answers have arrived, so the last group starts, whatever its size") {
    carry(*pair.b, *pair.a);
    carry(*pair.a, *pair.b);
    CHECK(pair.started() == 5);
    CHECK(completed(pair) == "1 success, 2 success, 3 success, 4 success, 5 success");
  }
  SUBCASE("small Reads wait for no group, nor does a Read before one") {
    pair.read(8);
    CHECK(pair.started() == 6);
  }
  SUBCASE("a Send after a Read ends the wait for a group") {
    post_recv(*pair.b, 1, sge(pair.source, 0, 8));
    post_send(*pair.a, 6, sge(pair.sink, 0, 8));
    carry(*pair.a, *pair.b);
    CHECK(pair.started() == 6);
  }
}

TEST_CASE("a group has at most 256 KiB, so Reads of that size do not wait") {
  Reading pair(4 * kLarge);
  for (std::size_t i = 1; i <= kDepth; ++i) {
    pair.read(4 * kLarge);
    CHECK(pair.started() == i);
  }
}
