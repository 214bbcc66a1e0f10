// SPDX-License-Identifier: Apache-2.0
// Tests requests that precede a Send which waits for a receive. The peer acknowledges these
// requests without being asked, because the acknowledgement request is queued behind the waiting
// Send.
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

/// Returns options of an end that holds a Send until there is a receive for it. `agreed` is whether
/// the end offers Send with Immediate.
ConnectionOptions waiting(const ConnectionOptions& base, bool agreed = true) {
  auto out = holding(60s, base);
  out.startup.send_immediate = agreed;
  return out;
}

/// Returns the options of waiting(), with acknowledged completions.
ConnectionOptions acknowledging(bool agreed = true) { return waiting(acknowledged(), agreed); }

void post_receives(Pair& pair, const Regions& m, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) post_recv(*pair.b, 100 + i, sge(m.theirs, 0, 64));
}

}  // namespace

TEST_CASE("a Send that waits for its receive does not delay completions of requests before it") {
  for (const std::size_t segment : {100'000U, 50U}) {
    for (std::uint64_t receives = 0; receives <= 16; ++receives) {
      // If `receives` is odd, the completions of the receiver are as in RFC 5040. This must make no
      // difference.
      const auto receiver = receives % 2 == 0 ? acknowledging() : waiting({});
      Connected pair(acknowledging(), receiver, {.seed = 7, .max_segment = segment});
      const Regions m = regions(pair, 4096);
      post_receives(pair, m, receives);
      for (std::uint64_t id = 0; id < 17; ++id) post_send(*pair.a, id, sge(m.mine, 0, 64));
      pair.run();
      CHECK(pair.b->completions().size() == receives);
      CHECK(pair.a->completions().size() == receives);
      post_receives(pair, m, 17 - receives);
      pair.run();
      CHECK(pair.b->completions().size() == 17 - receives);
      CHECK(pair.a->completions().size() == 17 - receives);
    }
  }
}

TEST_CASE("while Sends wait, each posted receive completes one more of them") {
  Connected pair(acknowledging(), acknowledging());
  const Regions m = regions(pair, 4096);
  for (std::uint64_t id = 0; id < 8; ++id) post_send(*pair.a, id, sge(m.mine, 0, 64));
  for (std::uint64_t id = 0; id < 8; ++id) {
    post_receives(pair, m, 1);
    CHECK(completed(pair) == std::to_string(id) + " success");
  }
}

TEST_CASE("requests of every kind before a waiting Send complete, none after it") {
  Connected pair(acknowledging(), acknowledging());
  const Regions m = regions(pair, 4096);
  const Sge from = sge(m.mine, 0, 8);
  post_receives(pair, m, 4);
  post_send(*pair.a, 0, from);
  post_write(*pair.a, 1, from, remote(m.theirs), SendFlags::kNone);
  post_read(*pair.a, 2, sge(m.mine, 8, 8), remote(m.theirs));
  post_fetch_add(*pair.a, 3, sge(m.mine, 16, 8), remote(m.theirs), 1);
  post_send_immediate(*pair.a, 4, {&from, 1}, 7);
  post_write_immediate(*pair.a, 5, from, remote(m.theirs), 8);
  post_immediate(*pair.a, 6, 9);
  SUBCASE("a Send") { post_send(*pair.a, 7, from); }
  SUBCASE("a Send with Immediate") { post_send_immediate(*pair.a, 7, {&from, 1}, 10); }
  SUBCASE("the Immediate behind a Write") {
    post_write_immediate(*pair.a, 7, from, remote(m.theirs), 11);
  }
  post_write(*pair.a, 8, from, remote(m.theirs));
  CHECK(completed(pair) == "0 success, 2 success, 3 success, 4 success, 5 success, 6 success");
  post_receives(pair, m, 1);
  CHECK(completed(pair) == "7 success, 8 success");
}

TEST_CASE("no acknowledgement is sent if a Send waits and nothing before it is unacknowledged") {
  Connected pair(acknowledging(), acknowledging());
  const Regions m = regions(pair, 4096);
  post_receives(pair, m, 1);
  post_send(*pair.a, 0, sge(m.mine, 0, 64));
  pair.run();
  post_send(*pair.a, 1, sge(m.mine, 0, 64));
  CHECK(completed(pair) == "0 success");
  CHECK(opcodes(pair.to_a) == "2");
}

// The receiver must not send an unrequested acknowledgement here, because the peer may already have
// closed its socket. Data that a closed socket receives causes a reset, and the reset can make the
// peer's kernel discard data that it has not sent yet.
TEST_CASE("a peer whose requests complete when they have been sent receives no acknowledgements") {
  Connected pair(waiting({}), acknowledging());
  const Regions m = regions(pair, 4096);
  post_receives(pair, m, 3);
  for (std::uint64_t id = 0; id < 4; ++id) post_send(*pair.a, id, sge(m.mine, 0, 64));
  pair.run();
  CHECK(pair.a->completions().size() == 4);
  CHECK(opcodes(pair.to_a).empty());
}

TEST_CASE("a peer without the extension receives no acknowledgements, and loses no data") {
  for (const bool ours : {true, false}) {
    Connected pair(acknowledging(ours), acknowledging(!ours));
    const Regions m = regions(pair, 4096);
    post_receives(pair, m, 3);
    for (std::uint64_t id = 0; id < 4; ++id) post_send(*pair.a, id, sge(m.mine, 0, 64));
    pair.run();
    CHECK(opcodes(pair.to_a).find('0') == std::string::npos);
    post_receives(pair, m, 1);
    CHECK(completed(pair) == "0 success, 1 success, 2 success, 3 success");
  }
}

TEST_CASE("an acknowledgement is not sent between an Immediate and its Send") {
  auto options = acknowledging();
  options.max_ulpdu = 512;
  options.transmit_batch = 1;
  Connected pair(options, options);
  const Regions m = regions(pair, 4096);
  Region* const inbox = pair.a->memory(4096, kEverything);
  post_receives(pair, m, 3);
  post_recv(*pair.a, 200, sge(inbox, 0, 4096));
  // The responder must not send anything before it has received this Send.
  post_send(*pair.a, 0, sge(m.mine, 0, 64));
  CHECK(completed(pair) == "0 success");
  const Sge from = sge(m.theirs, 0, 3000);
  post_send_immediate(*pair.b, 0, {&from, 1}, 7);
  // Sends the Immediate, but no part of the Send.
  pair.to_a.send();
  REQUIRE(opcodes(pair.to_a) == "28");
  for (std::uint64_t id = 1; id < 4; ++id) post_send(*pair.a, id, sge(m.mine, 0, 64));
  carry(*pair.a, *pair.b);
  CHECK(completed(pair) == "200 success, 1 success, 2 success");
  CHECK(collapsed(opcodes(pair.to_a)).starts_with("2830"));
  CHECK(pair.b->qp->state() == QpState::kRts);
}

TEST_CASE("an acknowledgement of requests never sent, or complete, completes nothing") {
  Connected pair(acknowledging(), acknowledging());
  const Regions m = regions(pair, 4096);
  post_receives(pair, m, 2);
  post_send(*pair.a, 0, sge(m.mine, 0, 64));
  CHECK(completed(pair) == "0 success");
  // A program may post zero-length Writes to any address, including the address that
  // acknowledgements use. The MSNs in these addresses belong to messages that `a` never sent or
  // that are complete.
  for (const std::uint32_t msn : {0U, 1U, 2U, 3U, 0xFFFFFFFFU}) {
    post_write(*pair.b, 50, sge(m.theirs, 0, 0),
               {.rkey = rdmap::kHeldStag, .to = rdmap::held_to(rdmap::Msn{msn}).value});
  }
  post_send(*pair.a, 1, sge(m.mine, 0, 64));
  carry(*pair.b, *pair.a);
  CHECK(pair.a->completions().empty());
  CHECK(completed(pair) == "1 success");
}

TEST_CASE("a connection with a waiting Send closes in order, and sends nothing after its FIN") {
  for (const bool ours : {true, false}) {
    Connected pair(acknowledging(), acknowledging());
    const Regions m = regions(pair, 4096);
    post_receives(pair, m, 1);
    for (std::uint64_t id = 0; id < 2; ++id) post_send(*pair.a, id, sge(m.mine, 0, 64));
    carry(*pair.a, *pair.b);
    CHECK(!(ours ? pair.b : pair.a)->qp->disconnect());
    pair.run();
    CHECK_FALSE(pair.to_a.sent_after_fin);
    post_recv(*pair.b, 101, sge(m.theirs, 0, 64));
    pair.advance(1s);
    CHECK_FALSE(pair.to_a.sent_after_fin);
    CHECK(pair.a->completions().front().status == WcStatus::kSuccess);
  }
}
