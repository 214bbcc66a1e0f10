// SPDX-License-Identifier: Apache-2.0
// Tests attacks of RFC 5042 that break no single rule of the protocol: STags that are guessed or
// were valid earlier, and a peer that sends more than its share.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kLength = 64;

// Writes to `guess`, an STag without a region, and checks that `b` refuses the Write.
void check_nobodys(Pair& pair, Stag guess, const Region* near) {
  Region* source = pair.a->memory(kLength, Access::kNone);
  std::fill_n(source->address, kLength, std::byte{0xEE});
  post_write(*pair.a, 1, sge(source, 0, kLength), {.rkey = guess, .to = remote(near).to});
  check_refused(pair, *pair.b, "1/1/00");
}

}  // namespace

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
    check_nobodys(pair, remembered, shown);
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
