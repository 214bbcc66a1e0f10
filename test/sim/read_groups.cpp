// SPDX-License-Identifier: Apache-2.0
// Tests that large Reads start in groups while earlier answers keep the peer busy, that no Read
// waits when the peer has no earlier answers to send, and that no other request waits for a group.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

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

TEST_CASE("when earlier answers have arrived the last group starts, whatever its size") {
  Reading pair(kLarge);
  for (std::size_t i = 0; i < 5; ++i) pair.read(kLarge);
  REQUIRE(pair.started() == 4);
  carry(*pair.b, *pair.a);
  carry(*pair.a, *pair.b);
  CHECK(pair.started() == 5);
  CHECK(completed(pair) == "1 success, 2 success, 3 success, 4 success, 5 success");
}

TEST_CASE("small Reads wait for no group, nor does a Read before one") {
  Reading pair(kLarge);
  for (std::size_t i = 0; i < 5; ++i) pair.read(kLarge);
  REQUIRE(pair.started() == 4);
  pair.read(8);
  CHECK(pair.started() == 6);
}

TEST_CASE("a Send after a Read ends the wait for a group") {
  Reading pair(kLarge);
  post_recv(*pair.b, 1, sge(pair.source, 0, 8));
  for (std::size_t i = 0; i < 5; ++i) pair.read(kLarge);
  REQUIRE(pair.started() == 4);
  post_send(*pair.a, 6, sge(pair.sink, 0, 8));
  carry(*pair.a, *pair.b);
  CHECK(pair.started() == 6);
}

TEST_CASE("a group has at most 256 KiB, so Reads of that size do not wait") {
  Reading pair(4 * kLarge);
  for (std::size_t i = 1; i <= kDepth; ++i) {
    pair.read(4 * kLarge);
    CHECK(pair.started() == i);
  }
}
