// SPDX-License-Identifier: Apache-2.0
// Tests atomics that must not be executed: atomics that the responder refuses, atomics that the
// requester refuses to post, peers without RFC 7306, and memory that is deregistered (RFC 7306
// sections 8 and 9).
#include <functional>

#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

constexpr std::size_t kBlock = 64;

// Creates a region whose first octet has an odd address and TO 0.
Region* odd_base(End& end, std::size_t by) {
  const Region* block = end.memory(kBlock, kEverything);
  auto region = end.stags.create({.kind = Region::Kind::kRegion,
                                  .pd = 1,
                                  .address = block->address + by,
                                  .length = kBlock - by,
                                  .access = kEverything | Access::kZeroBased});
  return *region;
}

struct AtomicCase {
  const char* name;
  std::function<RemoteAddress(End&)> aim;
  const char* code;  ///< code of the expected Terminate, or "" if the atomic is allowed
};

const std::vector<AtomicCase> kAtomicCases{
    {"the word at the start", [](End& e) { return remote(e.memory(kBlock, kEverything)); }, ""},
    {"the right to atomics alone",
     [](End& e) { return remote(e.memory(kBlock, Access::kRemoteAtomic)); }, ""},
    {"the last word", [](End& e) { return remote(e.memory(kBlock, kEverything), kBlock - 8); }, ""},
    {"a region tied to this queue pair",
     [](End& e) { return remote(e.memory(kBlock, kEverything, true)); }, ""},
    {"a zero-based region",
     [](End& e) { return remote(e.memory(kBlock, kEverything | Access::kZeroBased), 8); }, ""},
    {"no such STag",
     [](End& e) { return RemoteAddress{Stag{0x00ABCD00}, remote(e.memory(8, kEverything)).to}; },
     "0/1/00"},
    {"the right index with the wrong key",
     [](End& e) { return wrong_key(remote(e.memory(kBlock, kEverything)), 1); }, "0/1/00"},
    {"every right but this one",
     [](End& e) {
       return remote(e.memory(kBlock, Access::kLocalWrite | Access::kRemoteWrite |
                                          Access::kRemoteRead | Access::kBindWindow));
     },
     "0/1/02"},
    {"another protection domain", [](End& e) { return remote(foreign(e, kBlock, 2, 0)); },
     "0/1/03"},
    {"tied to another queue pair", [](End& e) { return remote(foreign(e, kBlock, 1, 8)); },
     "0/1/03"},
    {"one word in front",
     [](End& e) { return remote(e.memory(kBlock, kEverything), SIZE_MAX - 7); }, "0/1/01"},
    {"one word behind", [](End& e) { return remote(e.memory(kBlock, kEverything), kBlock); },
     "0/1/01"},
    {"a word that is half inside", [](End& e) { return remote(e.memory(12, kEverything), 8); },
     "0/1/01"},
    {"the last word there can be",
     [](End& e) { return RemoteAddress{stag_of(e.memory(8, kEverything)), UINT64_MAX - 7}; },
     "0/1/01"},
    {"a TO that is not a multiple of 8",
     [](End& e) { return remote(e.memory(kBlock, kEverything), 4); }, "0/2/07"},
    {"a TO that is not, of an STag that is not",
     [](End&) { return RemoteAddress{Stag{0x00ABCD00}, 1}; }, "0/2/07"},
    {"a right TO, but memory that is not aligned", [](End& e) { return remote(odd_base(e, 4)); },
     "0/2/07"},
    {"memory that is aligned, but a wrong TO", [](End& e) { return remote(odd_base(e, 4), 4); },
     "0/2/07"},
};

}  // namespace

TEST_CASE(
    "forbidden atomics cause the right Terminate and change nothing [EXT-9] [EXT-10] [EXT-11] "
    "[EXT-15] [EXT-16] [EXT-17] [EXT-21] [EXT-61] [EXT-65] [EXT-66] [EXT-67]") {
  for (const AtomicCase& c : kAtomicCases) {
    for (const bool swap : {false, true}) {
      INFO(c.name, ", swap ", swap);
      Connected pair;
      Region* mine = pair.a->memory(16, Access::kLocalWrite);
      const auto at = c.aim(*pair.b);
      if (swap) {
        post_cmp_swap(*pair.a, 1, sge(mine, 0, 8), at, 0, 1);
      } else {
        post_fetch_add(*pair.a, 1, sge(mine, 0, 8), at, 1);
      }
      post_fetch_add(*pair.a, 2, sge(mine, 8, 8), at, 1);
      pair.run();
      const std::string code = c.code;
      if (code.empty()) {
        CHECK(text(pair.a->completions()) == "1 success, 2 success");
        CHECK(word(mine, 8) == 1);
        continue;
      }
      check_refused(pair, *pair.b, code);
      check_repeated(*pair.b, 18, 0);
      CHECK(pair.b->qp->query().terminate_sent->segment->segment_length == 70);
      CHECK(text(pair.a->completions()) ==
            (code[2] == '1' ? "1 remote access error, 2 work request flushed"
                            : "1 remote invalid request, 2 work request flushed"));
      CHECK(all_zero(mine));
    }
  }
}

TEST_CASE("a window grants atomics if its region may be written [EXT-67] [VRB-35]") {
  for (const bool writable : {true, false}) {
    Connected pair;
    Region* mine = pair.a->memory(8, Access::kLocalWrite);
    Region* region =
        pair.b->memory(64, Access::kBindWindow | (writable ? Access::kLocalWrite : Access::kNone));
    Region* opened = window(*pair.b);
    post_bind(*pair.b, 5, opened, 5, region, 8, 8, Access::kRemoteAtomic);
    // The responder may send after it has received this first FPDU.
    post_write(*pair.a, 1, sge(mine, 0, 0), {});
    CHECK(completed(pair) == "1 success");
    CHECK(text(pair.b->completions()) == (writable ? "5 success" : "5 memory window bind error"));
    if (!writable) continue;
    post_fetch_add(*pair.a, 2, sge(mine, 0, 8), remote(opened), 3);
    CHECK(completed(pair) == "2 success");
    CHECK(word(region, 8) == 3);
    // The window does not grant remote read access.
    post_read(*pair.a, 3, sge(mine, 0, 8), remote(opened));
    check_refused(pair, *pair.b, "0/1/02");
  }
}

TEST_CASE("nothing of RFC 7306 can be posted or sent to a peer that did not agree [EXT-1]") {
  for (const bool a_knows : {true, false}) {
    Connected pair(a_knows ? ConnectionOptions{} : without_extensions(),
                   a_knows ? without_extensions() : ConnectionOptions{});
    CHECK_FALSE(pair.a->qp->query().extensions);
    CHECK_FALSE(pair.b->qp->query().extensions);
    const auto [mine, theirs] = regions(pair, 8);
    const Sge local = sge(mine, 0, 8);
    for (const auto opcode : {WrOpcode::kFetchAdd, WrOpcode::kCmpSwap, WrOpcode::kWriteImmediate}) {
      CHECK(
          pair.a->qp->post_send({.opcode = opcode, .sgl = {&local, 1}, .remote = remote(theirs)}) ==
          verbs::Errc::kNotAgreed);
    }
    CHECK(pair.a->qp->post_send({.opcode = WrOpcode::kImmediate}) == verbs::Errc::kNotAgreed);
    CHECK(pair.a->qp->query().send_outstanding == 0);
    post_write(*pair.a, 1, local, remote(theirs));  // All other operations still work.
    CHECK(completed(pair) == "1 success");
  }
}

TEST_CASE("an extension request posted in Idle fails if the peer does not agree [EXT-1]") {
  for (const auto opcode :
       {WrOpcode::kFetchAdd, WrOpcode::kCmpSwap, WrOpcode::kImmediate, WrOpcode::kWriteImmediate}) {
    for (const bool agreed : {true, false}) {
      Pair pair({}, agreed ? ConnectionOptions{} : without_extensions());
      const auto [mine, theirs] = regions(pair, 8);
      post_recv(*pair.b, 9, sge(theirs, 0, 8));
      const Sge local = sge(mine, 0, 8);
      post_write(*pair.a, 1, local, remote(theirs));
      post(*pair.a, 2, opcode, SendFlags::kSignaled,
           {.sgl = {&local, opcode == WrOpcode::kImmediate ? 0U : 1U}, .remote = remote(theirs)});
      post_write(*pair.a, 3, local, remote(theirs));
      pair.establish();
      const auto done = text(pair.a->completions());
      if (agreed) {
        CHECK(done == "1 success, 2 success, 3 success");
        continue;
      }
      check_refused(pair, *pair.a, "0/0/00");
      CHECK(done.ends_with("2 local QP operation error, 3 work request flushed"));
      CHECK(opcodes(pair.to_b).find_first_of("89ab") == std::string::npos);
    }
  }
}

TEST_CASE("each connection of a queue pair negotiates its own agreement [EXT-1]") {
  Connected pair({}, without_extensions());
  CHECK_FALSE(pair.a->qp->query().extensions);
  CHECK(!pair.a->qp->disconnect());
  pair.run();
  REQUIRE(are_both_in(pair, QpState::kIdle));
  pair.renew({}, {});
  REQUIRE(pair.establish());
  CHECK(pair.a->qp->query().extensions);
  const auto [mine, theirs] = regions(pair, 8);
  post_fetch_add(*pair.a, 1, sge(mine, 0, 8), remote(theirs), 1);
  CHECK(completed(pair) == "1 success");
}

TEST_CASE("deregistering the local word of an atomic is one protection error [VRB-37]") {
  Connected pair;
  const auto [mine, theirs] = regions(pair, 16, 8);
  post_fetch_add(*pair.a, 1, sge(mine, 0, 8), remote(theirs), 7);
  post_fetch_add(*pair.a, 2, sge(mine, 8, 8), remote(theirs), 7);
  pair.a->connection->transmit_plan(64, pair.a->now);
  destroy(*pair.a, mine);
  reuse(mine);
  pair.run();
  CHECK(pair.a->qp->state() == QpState::kError);
  CHECK(text(pair.a->completions()) == "1 local protection error, 2 work request flushed");
  CHECK(is_reused(mine));
}

TEST_CASE("atomics whose target is deregistered are 0/1/00 [EXT-67, VRB-37]") {
  Connected pair;
  const auto [mine, theirs] = regions(pair, 16, 8);
  post_fetch_add(*pair.a, 1, sge(mine, 0, 8), remote(theirs), 7);
  pair.run();
  post_fetch_add(*pair.a, 2, sge(mine, 8, 8), remote(theirs), 7);
  pair.step();
  int asked = 0;
  CHECK(!pair.b->stags.destroy(theirs, [&](Region&) { ++asked; }));
  CHECK(asked == 0);  // Between two steps, no atomic holds a pin on the memory.
  pair.run();
  const auto done = text(pair.a->completions());
  CHECK((done == "1 success, 2 success" || done == "1 success, 2 remote access error"));
  CHECK(word(theirs) == (done.ends_with("error") ? 7U : 14U));
}
