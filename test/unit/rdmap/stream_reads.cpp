// SPDX-License-Identifier: Apache-2.0
// Tests RDMA Reads from both ends: the responder answers requests, and the requester checks the
// responses (RFC 5040 sections 5.2, 6.1 and 7.2).
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

// Responder ---------------------------------------------------------------------------------------

struct Responder : Bench {
  explicit Responder(std::size_t ird = 16) : Bench({.ird = ird}) {
    ulp.readable = {{.stag = 0x11223344, .to = 0x1000, .at = 0, .length = 1024}};
    std::ranges::copy(pattern(1024), ulp.arena.begin());
  }
};

TEST_CASE(
    "frame G is answered with frame H, and the ULP is not notified [RDMAP-13, RDMAP-29, RDMAP-32, "
    "RDMAP-37, RDMAP-42, RDMAP-47, RDMAP-69, RDMAP-75]") {
  Responder bench;
  CHECK_FALSE(bench.feed(message("G")));
  CHECK(bench.ulp.log.empty());  // The stream reads nothing before the request is delivered.
  CHECK(bench.stream.inbound_reads() == 1);
  CHECK(bench.next_text() == text(message("H")));
  CHECK(bench.last_copied);
  CHECK_FALSE(bench.ulp.source_held);
  CHECK(bench.stream.inbound_reads() == 0);
  CHECK_FALSE(bench.next());
}

TEST_CASE("a Read Request has 28 octets, also in several segments [RDMAP-11, RDMAP-36, DDP-71]") {
  const auto whole = message("G");
  for (std::size_t cut = 0; cut <= kReadRequestSize; ++cut) {
    Responder bench;
    const auto [first, second] = split(whole, cut);
    CHECK_FALSE(bench.feed(first));
    CHECK(bench.stream.inbound_reads() == 0);
    CHECK_FALSE(bench.feed(second));
    CHECK(bench.next_text() == text(message("H")));
  }
  for (std::size_t n = 0; n < kReadRequestSize; ++n) {
    Responder bench;
    CHECK(bench.feed(bytes::View(whole).first(18 + n)) == kOperationUnspecified);
    CHECK(bench.stream.inbound_reads() == 0);
  }
  Responder bench;
  auto longer = whole;
  longer.push_back(std::byte{0});
  CHECK(bench.feed(longer) == ddp::kUntaggedTooLong);
}

// Requester ---------------------------------------------------------------------------------------

struct Requester : Bench {
  Requester() {
    ulp.requests.push_back(read(ulp.memory(100, 64), 42));
    REQUIRE(drain() == "1");
    ulp.log.clear();
  }
  std::optional<Fault> respond(std::uint32_t stag, std::uint64_t to, std::size_t size,
                               bool last = true) {
    const auto payload = pattern(size, static_cast<unsigned>(to));
    return feed(segment(tagged_header(Opcode::kReadResponse, stag, to, last), payload));
  }
};

TEST_CASE("frame H completes the Read of frame G [RDMAP-44, RDMAP-68, RDMAP-77, RDMAP-79]") {
  Requester bench;
  CHECK_FALSE(bench.feed(message("H")));
  CHECK(bench.ulp.take_log() == Log{"read 42"});
  CHECK(std::ranges::equal(bench.ulp.memory(100, 64), pattern(64)));
  CHECK(bench.ulp.arena[99] == std::byte{0xEE});
  CHECK(bench.ulp.arena[164] == std::byte{0xEE});
}

TEST_CASE("Sends are delivered while a response is incomplete [RDMAP-70, RDMAP-76]") {
  Requester bench;
  bench.ulp.receives = {bench.ulp.memory(300, 10)};
  CHECK_FALSE(bench.respond(0x55667788, 0x2000, 30, false));
  CHECK_FALSE(bench.feed(message("D")));
  CHECK_FALSE(bench.respond(0x55667788, 0x201E, 34));
  CHECK(bench.ulp.take_log() == Log{"receive", "send 5", "read 42"});
}

}  // namespace
}  // namespace iwarp::rdmap
