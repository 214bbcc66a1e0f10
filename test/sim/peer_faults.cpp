// SPDX-License-Identifier: Apache-2.0
// Tests how a peer can misuse a queue pair and its STags: each case must cause exactly one
// Terminate and flush both ends in order. The cases ddp/stag, ddp/bounds and rdmap/read of `iwarp
// conform` test invalid STags and bounds. Also tests attacks of RFC 5042 that break no single rule
// of the protocol.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kSize = 256;

constexpr std::size_t kLength = 64;

}  // namespace

// [IBV-474]
TEST_CASE("a queue pair that allows no Writes, Reads or atomics refuses them [EXT-67] [VRB-30]") {
  struct Row {
    Access right;
    void (*post)(End& end, const Sge& local, RemoteAddress at);
  };
  const std::array rows{
      Row{Access::kRemoteWrite,
          [](End& end, const Sge& local, RemoteAddress at) { post_write(end, 2, local, at); }},
      Row{Access::kRemoteRead,
          [](End& end, const Sge& local, RemoteAddress at) { post_read(end, 2, local, at); }},
      Row{Access::kRemoteAtomic, [](End& end, const Sge& local, RemoteAddress at) {
            post_fetch_add(end, 2, local, at, 1);
          }}};
  for (const Row& row : rows) {
    for (const auto& options : {ConnectionOptions{}, acknowledged()}) {
      CAPTURE(static_cast<int>(row.right));
      verbs::QpInit init;
      init.inbound = Access::kNone;
      for (const Row& other : rows) {
        if (other.right != row.right) init.inbound = init.inbound | other.right;
      }
      auto [pair, mine, theirs] = Ready(kSize, options, options, {}, {}, init);
      post_recv(*pair.b, 10, sge(theirs, 0, 8));
      post_send(*pair.a, 1, sge(mine, 0, 8));
      row.post(*pair.a, sge(mine, 8, 8), remote(theirs));
      check_refused(pair, *pair.b, "0/2/06");
      // Without acknowledgements, a Write completes when it has been sent.
      const bool is_sent =
          row.right == Access::kRemoteWrite && options.completions == verbs::Completions::kSent;
      CHECK(text(pair.a->completions()) ==
            (is_sent ? "1 success, 2 success" : "1 success, 2 remote invalid request"));
      CHECK(all_zero(theirs));
    }
  }
}

TEST_CASE("a failed receive can be polled when the queue pair has left RTS, not before [VRB-38]") {
  for (const bool too_long : {false, true}) {
    CAPTURE(too_long);
    Connected pair;
    Region* source = pair.a->memory(kSize, Access::kNone);
    Region* inbox = pair.b->memory(kSize, Access::kLocalWrite);
    post_recv(*pair.b, 10, sge(inbox, 0, 100));
    if (!too_long) {
      REQUIRE(pair.b->stags.invalidate(1, 7, stag_of(inbox), false) ==
              verbs::StagTable::Invalidated::kDone);
    }
    auto seen = QpState::kRts;
    pair.b->on_notify = [&] { seen = pair.b->qp->state(); };
    pair.b->cq.arm(verbs::Notify::kNext);
    post_send(*pair.a, 1, sge(source, 0, 101));
    CHECK(completed(pair, *pair.b) ==
          (too_long ? "10 local length error" : "10 local protection error"));
    CHECK(pair.b->notifications == 1);
    CHECK(seen == QpState::kTerminate);
  }
}

TEST_CASE("a Send in many segments that overruns its buffer changes only the buffer [DDP-71]") {
  const ConnectionOptions options{.max_ulpdu = 128};
  Connected pair(options, options);
  Region* source = pair.a->memory(5000, Access::kNone);
  fill_pattern(source);
  Region* inbox = pair.b->memory(4999, Access::kLocalWrite);
  post_recv(*pair.b, 10, sge(inbox, 0, 4999));
  post_send(*pair.a, 1, sge(source, 0, 5000));
  check_refused(pair, *pair.b, "1/2/05");
  CHECK(text(pair.b->completions()) == "10 local length error");
}

TEST_CASE(
    "Send with Invalidate of an STag that is not this stream's alone is refused, and the STag "
    "lives on [RDMAP-58] [RDMAP-99] [RDMAP-100] [RDMAP-113] [SEC-28]") {
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    Connected pair;
    Region* source = pair.a->memory(kSize, Access::kNone);
    Region* inbox = pair.b->memory(kSize, Access::kLocalWrite);
    post_recv(*pair.b, 10, sge(inbox, 0, kSize));
    Region* target = kind == 0   ? pair.b->memory(kSize, kEverything)  // shared within its PD
                     : kind == 1 ? foreign(*pair.b, kSize, 1, 8)       // of another stream
                                 : foreign(*pair.b, kSize, 2, 7);      // of another PD
    const Stag stag = kind == 3 ? Stag{0x00123400} : stag_of(target);
    post_send_invalidate(*pair.a, 1, sge(source, 0, 8), stag);
    check_refused(pair, *pair.b, "0/1/09");
    CHECK(target->valid.load());
    CHECK(text(pair.b->completions()) == "10 work request flushed");
  }
}

TEST_CASE("a peer that stores the STag of deregistered memory never gets access again [SEC-11]") {
  for (const int registrations : {0, 1, 2, 100}) {
    CAPTURE(registrations);
    Connected pair;
    Region* shown = pair.b->memory(kLength, kEverything);
    const auto again = verbs::StagTable::NewRegion{.kind = Region::Kind::kRegion,
                                                   .pd = 1,
                                                   .address = shown->address,
                                                   .length = kLength,
                                                   .access = kEverything};
    const Stag remembered = stag_of(shown);
    REQUIRE(!pair.b->stags.destroy(shown, nullptr));
    for (int i = 0; i < registrations; ++i) {
      Region* region = *pair.b->stags.create(again);
      if (i + 1 < registrations) REQUIRE(!pair.b->stags.destroy(region, nullptr));
    }
    Region* source = pair.a->memory(kLength, Access::kNone);
    std::fill_n(source->address, kLength, std::byte{0xEE});
    post_write(*pair.a, 1, sge(source, 0, kLength), {.rkey = remembered, .to = remote(shown).to});
    check_refused(pair, *pair.b, "1/1/00");
    CHECK(all_zero(shown));
  }
}

TEST_CASE("a peer that floods cannot fill the completion queue [SEC-24, SEC-37, RDMAP-117]") {
  constexpr std::uint64_t kEach = 4;
  // The completion queue has one entry for each receive that is posted below.
  verbs::CompletionQueue shared(2 * kEach, nullptr);
  const verbs::QpInit init{.recv_cq = &shared};
  Pair flooding({}, {}, {.seed = 1}, {}, init);
  Pair honest({}, {}, {.seed = 2}, {}, init);
  for (Pair* pair : {&flooding, &honest}) {
    REQUIRE(pair->establish());
    Region* inbox = pair->b->memory(kEach * 8, Access::kLocalWrite);
    for (std::uint64_t id = 0; id < kEach; ++id) post_recv(*pair->b, id, sge(inbox, id * 8, 8));
  }
  Region* source = flooding.a->memory(8, Access::kNone);
  for (std::uint64_t id = 0; id < 50; ++id) post_send(*flooding.a, id, sge(source, 0, 8));
  flooding.run();
  CHECK_FALSE(shared.overflowed());
  source = honest.a->memory(8, Access::kNone);
  for (std::uint64_t id = 0; id < kEach; ++id) post_send(*honest.a, id, sge(source, 0, 8));
  honest.run();
  CHECK_FALSE(shared.overflowed());
  CHECK(text(honest.a->completions()) == "0 success, 1 success, 2 success, 3 success");
  std::vector<WorkCompletion> came(2 * kEach + 1);
  CHECK(shared.poll(came) == 2 * kEach);
  CHECK(honest.b->qp->state() == QpState::kRts);
}
