// SPDX-License-Identifier: Apache-2.0
// Tests access that is granted and revoked while a stream is in use: all kinds of invalidation,
// fast registration and windows.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

Region* fast_region(End& end) {
  return end.stags.create({.kind = Region::Kind::kFastRegion, .pd = 1}).value();
}

}  // namespace

TEST_CASE("nothing waits for a pin if a Write and the Send that invalidates arrive together") {
  auto [pair, mine, inbox] = Ready(100);
  Region* theirs = pair.b->memory(100, kEverything, true);
  fill_pattern(mine);
  post_recv(*pair.b, 10, sge(inbox, 0, 100));
  for (std::uint64_t i = 0; i < 4; ++i) post_write(*pair.a, i, sge(mine, 0, 100), remote(theirs));
  post_send_invalidate(*pair.a, 4, sge(mine, 0, 4), stag_of(theirs));
  SUBCASE("and nothing follows") {
    CHECK(completed(pair, *pair.b) == "10 success");
    CHECK(same(mine, theirs, 100));
    CHECK(theirs->pins.load() == 0);
  }
  SUBCASE("and a Write after them is refused") {
    post_write(*pair.a, 5, sge(mine, 0, 100), remote(theirs));
    pair.run();
    CHECK(text(pair.b->completions()).starts_with("10 success"));
    check_refused(pair, *pair.b, "1/1/00");
  }
}

// [IBV-185, IBV-186]
TEST_CASE(
    "Write, Read back, Send with Invalidate, and a Write to the invalid STag: 1/1/00 [RDMAP-57] "
    "[RDMAP-58] [RDMAP-110] [RDMAP-112] [DDP-89] [DDP-96] [DDP-91] [VRB-47] [SEC-13]") {
  for (const bool tied_to_qp : {true, false}) {
    Connected pair;
    Region* mine = pair.a->memory(100, kEverything);
    Region* back = pair.a->memory(100, kEverything);
    Region* theirs = pair.b->memory(
        100, tied_to_qp ? kEverything : kEverything | Access::kRemoteInvalidate, tied_to_qp);
    Region* inbox = pair.b->memory(100, kEverything);
    fill_pattern(mine);
    post_recv(*pair.b, 10, sge(inbox, 0, 100));
    post_write(*pair.a, 1, sge(mine, 0, 100), remote(theirs));
    post_read(*pair.a, 2, sge(back, 0, 100), remote(theirs));
    pair.run();
    post_send_invalidate(*pair.a, 3, sge(mine, 0, 4), stag_of(theirs));
    CHECK(completed(pair) == "1 success, 2 success, 3 success");
    CHECK(same(mine, back, 100));
    const auto received = pair.b->completions();
    REQUIRE(received.size() == 1);
    CHECK(received[0].invalidated);
    CHECK(received[0].invalidated_stag == stag_of(theirs));
    CHECK_FALSE(theirs->valid.load());
    // The completion has been polled, so `b` must refuse a later Write.
    std::fill_n(mine->address, 100, std::byte{0xEE});
    post_write(*pair.a, 4, sge(mine, 0, 100), remote(theirs));
    check_refused(pair, *pair.b, "1/1/00");
    CHECK(same(back, theirs, 100));
  }
}

TEST_CASE("a Send with Invalidate completes when the last pin has ended [SEC-14, VRB-47, DDP-98]") {
  auto [pair, mine, inbox] = Ready(100);
  Region* theirs = pair.b->memory(100, kEverything, true);
  post_recv(*pair.b, 10, sge(inbox, 0, 50));
  post_recv(*pair.b, 11, sge(inbox, 50, 50));
  auto use = pair.b->stags.acquire({.pd = 1, .need = Access::kNone}, stag_of(theirs),
                                   reinterpret_cast<std::uintptr_t>(theirs->address), 8);
  REQUIRE(use.has_value());
  post_send_invalidate(*pair.a, 1, sge(mine, 0, 4), stag_of(theirs));
  post_send(*pair.a, 2, sge(mine, 0, 4));
  pair.run();
  CHECK_FALSE(theirs->valid.load());
  pair.advance(10ms);
  CHECK(pair.b->completions().empty());  // The completion of the second Send also waits.
  use->release();
  pair.advance(10ms);
  CHECK(text(pair.b->completions()) == "10 success, 11 success");
  CHECK(pair.b->qp->state() == QpState::kRts);
}

TEST_CASE("a Send with Invalidate of the sink of our own Read is refused [RDMAP-58, VRB-47]") {
  constexpr std::size_t kLong = 500'000;
  for (const auto completions : {verbs::Completions::kSent, verbs::Completions::kAcknowledged}) {
    CAPTURE(static_cast<int>(completions));
    const ConnectionOptions options{.completions = completions};
    auto [pair, mine, first] = Ready(kLong, options, options, {.seed = 2, .max_segment = 5000});
    Region* sink = pair.b->memory(8, kEverything, true);
    Region* inbox = pair.b->memory(8, kEverything);
    post_recv(*pair.b, 10, sge(inbox, 0, 8));
    let_responder_send(pair);
    // The Send overtakes the response to the second Read, which is queued behind the long response
    // to the first Read.
    const auto before = pair.to_b.log.size();
    post_read(*pair.b, 2, sge(first, 0, kLong), remote(mine));
    post_read(*pair.b, 3, sge(sink, 0, 8), remote(mine));
    while (pair.to_b.log.size() == before) REQUIRE(pair.step());
    post_send_invalidate(*pair.a, 1, sge(mine, 0, 4), stag_of(sink));
    check_refused(pair, *pair.b, "0/1/09");
    CHECK(sink->valid.load());
    CHECK(text(pair.b->completions()) ==
          "2 success, 3 work request flushed, 10 work request flushed");
  }
}

TEST_CASE("a local invalidate takes effect before the next request [VRB-34, VRB-49, DDP-88]") {
  auto [pair, mine, theirs] = Ready(64);
  post_local_invalidate(*pair.b, 1, stag_of(theirs));
  post_write(*pair.a, 2, sge(mine, 0, 0), {}, SendFlags::kNone);  // Lets the responder send.
  CHECK(completed(pair, *pair.b) == "1 success");
  post_write(*pair.a, 3, sge(mine, 0, 8), remote(theirs));
  check_refused(pair, *pair.b, "1/1/00");
}

TEST_CASE("a Read with Invalidate completes with data, after its sink is invalid [VRB-48]") {
  auto [pair, mine, theirs] = Ready(5000, {}, {}, {.seed = 3, .max_segment = 900});
  fill_pattern(theirs);
  const Sge sink = sge(mine, 0, 5000);
  post(*pair.a, 1, WrOpcode::kReadInvalidate, SendFlags::kSignaled,
       {.sgl = {&sink, 1}, .remote = remote(theirs)});
  for (int i = 0; i < 1000; ++i) {
    const auto done = pair.a->completions();
    if (!done.empty()) {
      CHECK(text(done) == "1 success");
      break;
    }
    CHECK(mine->valid.load());
    pair.step();
  }
  CHECK_FALSE(mine->valid.load());
  CHECK(same(mine, theirs, 5000));
}

TEST_CASE(
    "a fast region is registered, used, invalidated, and registered again with another key; the "
    "old STag stays invalid [VRB-26] [VRB-49] [RDMAP-111] [DDP-97]") {
  auto [pair, mine, theirs] = Ready(64);
  Region* fast = fast_region(*pair.b);
  fill_pattern(mine);
  let_responder_send(pair);
  for (const std::uint8_t key : {std::uint8_t{7}, std::uint8_t{8}}) {
    post_fast_register(*pair.b, 20, fast, key, theirs);
    pair.run();
    CHECK(stag_of(fast).value % 256 == key);
    post_write(*pair.a, 2, sge(mine, 0, 64), remote(fast));
    CHECK(completed(pair) == "2 success");
    CHECK(same(mine, theirs, 64));
    post_local_invalidate(*pair.b, 21, stag_of(fast));
    CHECK(completed(pair, *pair.b) == "20 success, 21 success");
  }
  post_fast_register(*pair.b, 22, fast, 9, theirs);
  pair.run();
  const RemoteAddress old{.rkey = Stag{(stag_of(fast).value & ~0xFFU) | 8}, .to = fast->to_base};
  post_write(*pair.a, 3, sge(mine, 0, 8), old);
  check_refused(pair, *pair.b, "1/1/00");
}

TEST_CASE("a registration is in effect when the Send that advertises it arrives [VRB-49]") {
  auto [pair, mine, theirs] = Ready(64);
  Region* inbox = pair.b->memory(64, kEverything);
  Region* fast = fast_region(*pair.a);
  fill_pattern(mine);
  post_recv(*pair.b, 10, sge(inbox, 0, 64));
  post_fast_register(*pair.a, 1, fast, 0, mine, Access::kRemoteRead);
  post_send(*pair.a, 2, sge(mine, 0, 4));
  while (pair.b->completions().empty()) pair.step();
  post_read(*pair.b, 3, sge(theirs, 0, 64), remote(fast));
  CHECK(completed(pair, *pair.b) == "3 success");
  CHECK(same(mine, theirs, 64));
}

TEST_CASE("an invalidate in the middle of a Read ends it with an access error [VRB-37]") {
  const ConnectionOptions small{.max_ulpdu = 512, .transmit_batch = 1024};
  auto [pair, mine, theirs] = Ready(50'000, small, small, {.seed = 3, .max_segment = 600});
  fill_pattern(theirs);
  post_read(*pair.a, 1, sge(mine, 0, 50'000), remote(theirs));
  for (int i = 0; i < 20; ++i) pair.step();
  CHECK(pair.b->stags.invalidate(1, 7, stag_of(theirs), false) ==
        verbs::StagTable::Invalidated::kDone);
  check_refused(pair, *pair.b, "0/1/00");
  CHECK(text(pair.a->completions()) == "1 remote access error");
  // In the Terminate, the Read Request has the size and address of the part that was not answered.
  // [RDMAP-22]
  const auto echo = pair.b->qp->query().terminate_sent->segment.value();
  const auto request = rdmap::decode_read_request(bytes::View(echo.rdma_header)).value();
  CHECK(request.size < 50'000);
  const std::uint64_t answered = 50'000 - request.size;
  CHECK(request.source_to.value == theirs->to_base + answered);
  CHECK(request.sink_to.value == mine->to_base + answered);
}

TEST_CASE("a peer that stops in the middle of an FPDU does not hold up an invalidate [SEC-14]") {
  // Payload is placed as it arrives, so the target stays pinned until the FPDU is complete.
  ConnectionOptions direct{.placement = verbs::Placement::kDirect, .max_ulpdu = 60'000};
  for (const bool crc : {true, false}) {
    direct.startup.crc = crc;
    auto [pair, mine, theirs] = Ready(50'000, direct, direct, {.seed = 3, .max_segment = 2000});
    Region* other = pair.b->memory(8, kEverything);
    // Sends one FPDU in advance, because a connection places its very first FPDU only when it is
    // complete.
    post_write(*pair.a, 0, sge(mine, 0, 8), remote(other), SendFlags::kNone);
    pair.run();
    const auto pinned = [&] {
      for (int i = 0; i < 1000 && theirs->pins.load() == 0; ++i) pair.step();
      REQUIRE(theirs->pins.load() == 1);
      pair.to_b.lose();  // Nothing more arrives.
    };
    SUBCASE("in a Write: the STag is invalid") {
      post_write(*pair.a, 1, sge(mine, 0, 50'000), remote(theirs));
      pinned();
      post_local_invalidate(*pair.b, 2, stag_of(theirs));
      post_write(*pair.b, 3, sge(other, 0, 8), remote(mine));
      pair.run();
      // The invalidation ends the stream on which it was posted, and no other.
      CHECK(text(pair.b->completions()) == "2 work request flushed, 3 work request flushed");
      CHECK(sent_code(*pair.b) == "1/1/00");
    }
    SUBCASE("in a Send: the receive has lost its memory") {
      post_recv(*pair.b, 10, sge(theirs, 0, 50'000));
      post_send(*pair.a, 1, sge(mine, 0, 50'000));
      pinned();
      post_local_invalidate(*pair.b, 2, stag_of(theirs));
      pair.run();
      CHECK(text(pair.b->completions()).find("2 work request flushed") != std::string::npos);
      CHECK(sent_code(*pair.b) == "0/0/00");
    }
    CHECK(theirs->pins.load() == 0);
  }
}

TEST_CASE("an invalidate waits until this end itself no longer uses the memory [VRB-43] [VRB-49]") {
  auto [pair, mine, theirs] = Ready(50'000, {}, {}, {.seed = 3, .max_segment = 2000});
  fill_pattern(theirs);
  post_write(*pair.a, 1, sge(mine, 0, 50'000), remote(theirs));
  fill_pattern(mine, 7);
  post_local_invalidate(*pair.a, 2, stag_of(mine));
  CHECK(completed(pair) == "1 success, 2 success");
  CHECK(same(mine, theirs, 50'000));
}
