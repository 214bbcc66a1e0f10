// SPDX-License-Identifier: Apache-2.0
// Tests with a whole connection what DDP requires of MPA: the sizes of segments, and what a
// Terminate interrupts. Also tests that streams share no state.
#include <iwarp/bytes/cursor.hpp>

#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

// Returns the ULPDU_Length of each complete FPDU after a startup frame. The stream must have no
// markers.
std::vector<std::size_t> ulpdu_lengths(const std::vector<std::byte>& stream) {
  std::vector<std::size_t> out;
  for (std::size_t at = kEnhancedFrame; at < stream.size();) {
    const std::size_t length = bytes::load_be<std::uint16_t>(stream.data() + at);
    at += mpa::fpdu_size(length);
    if (at <= stream.size()) out.push_back(length);
  }
  return out;
}

}  // namespace

TEST_CASE(
    "segments are as large as the EMSS allows, and follow its changes with the next segment "
    "[DDP-1] [DDP-2] [MPA-4] [MPA-5] [MPA-49]") {
  constexpr std::size_t kSize = 40'000;
  const ConnectionOptions options{.transmit_batch = 4096};
  auto [pair, mine, theirs] = Ready(kSize, options, {}, {.seed = 1, .max_segment = 2000});
  fill_pattern(mine);
  pair.a->connection->set_emss(1460);
  CHECK(pair.a->connection->mulpdu() == mpa::Mulpdu{1454});
  post_write(*pair.a, 1, sge(mine, 0, kSize), remote(theirs));
  while (pair.to_b.log.size() < kSize / 2) pair.step();
  pair.a->connection->set_emss(536);
  CHECK(pair.a->connection->mulpdu() == mpa::Mulpdu{530});
  CHECK(completed(pair) == "1 success");
  CHECK(same(mine, theirs, kSize));
  const auto lengths = ulpdu_lengths(pair.to_b.log);
  const auto small = std::find(lengths.begin(), lengths.end(), std::size_t{530});
  // FPDUs that were framed before the change of the EMSS keep their size.
  CHECK(small - lengths.begin() >= 13);
  CHECK(lengths.end() - small >= 20);
  CHECK(std::all_of(lengths.begin(), small, [](std::size_t n) { return n == 1454; }));
  CHECK(std::all_of(small, lengths.end() - 1, [](std::size_t n) { return n == 530; }));
  CHECK(lengths.back() <= 530);
}

TEST_CASE("a driver decides how many octets of a message are framed before a call") {
  constexpr std::size_t kSize = 100'000;
  constexpr std::size_t kFpdu = mpa::fpdu_size(14 + 986);
  auto [pair, mine, theirs] =
      Ready(kSize, {.max_ulpdu = 1000, .transmit_batch = 32'000}, {}, {.seed = 4});
  post_write(*pair.a, 1, sge(mine, 0, kSize), remote(theirs));
  std::size_t least = 0;
  for (const auto& [batch, limit] : {std::pair{8'000, 8'000}, {16'000, 16'000}, {64'000, 32'000}}) {
    const auto queued =
        bytes::total_size(pair.a->connection->transmit_plan(256, pair.a->now, batch));
    CHECK(queued > least);
    CHECK(queued >= limit - kFpdu);
    CHECK(queued < limit + kFpdu);
    least = queued;
  }
  CHECK(completed(pair) == "1 success");
  CHECK(same(mine, theirs, kSize));
}

TEST_CASE("a Terminate waits for the partly sent segment, not for those queued after it [VRB-20]") {
  constexpr std::size_t kSize = 200'000;  // The connection frames this many octets at once.
  const ConnectionOptions options{.max_ulpdu = 1000};
  auto [pair, mine, theirs] = Ready(kSize, options, {}, {.seed = 3, .max_segment = 700});
  post_write(*pair.a, 1, sge(mine, 0, kSize), remote(theirs));
  while (pair.to_b.log.size() < kSize / 4) pair.step();
  const auto before = pair.to_b.log.size();
  CHECK(!pair.a->qp->terminate());
  check_refused(pair, *pair.a, "0/0/00");
  CHECK(pair.to_b.log.size() - before <= mpa::fpdu_size(1000) + mpa::fpdu_size(22));
  CHECK(ulpdu_lengths(pair.to_b.log).back() == 22);
}

TEST_CASE("streams of one end share no inbound Read queue [SEC-25] [RDMAP-126]") {
  ConnectionOptions plain;  // MPA revision 1 does not negotiate IRD.
  plain.startup.revision = 1;
  plain.startup.ord = 8;
  Pair first(plain, plain, {.seed = 1});
  Pair second(plain, plain, {.seed = 2});
  const verbs::QpInit init{.pd = 1, .send_cq = &first.b->cq, .recv_cq = &first.b->cq};
  second.b->qp = std::make_unique<verbs::QueuePair>(8, init, first.b->stags, nullptr);
  Region* source = first.b->memory(64, kEverything);
  for (Pair* pair : {&first, &second}) {
    REQUIRE(pair->establish(2, 2));
    Region* sink = pair->a->memory(64, Access::kLocalWrite);
    for (std::uint64_t id = 1; id <= 2; ++id) {
      post_read(*pair->a, id, sge(sink, id * 8, 8), remote(source));
    }
    pair->step();
    CHECK(pair->to_b.in_flight().empty());        // Both Read Requests have arrived.
    CHECK(pair->to_a.log.size() == kPlainFrame);  // Neither of them has been answered.
  }
  for (Pair* pair : {&first, &second}) {
    pair->run();
    CHECK(text(pair->a->completions()) == "1 success, 2 success");
  }
  // The first peer exceeds IRD. Only the stream of that peer must end.
  Region* sink = first.a->memory(64, Access::kLocalWrite);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    post_read(*first.a, id, sge(sink, id * 8, 8), remote(source));
  }
  first.run();
  CHECK(sent_code(*first.b) == "1/2/02");
  sink = second.a->memory(64, Access::kLocalWrite);
  post_read(*second.a, 3, sge(sink, 0, 8), remote(source));
  second.run();
  CHECK(text(second.a->completions()) == "3 success");
}
