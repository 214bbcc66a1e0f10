// SPDX-License-Identifier: Apache-2.0
// Tests how each end reports why a stream ended: the request, its bytes, its wr_id and key, which
// end is at fault, and what to do.
#include "iwarp/verbs/stream_end.hpp"

#include <fmt/format.h>

#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

using Cause = verbs::StreamEnd::Cause;

constexpr std::size_t kBytes = 64;

std::string why(const End& end) { return verbs::describe(end.connection->end()); }

bool orderly(const End& end) { return verbs::is_orderly(end.connection->end()); }

// Returns options for both kinds of completion. With acknowledged completions, an arriving message
// waits for its receive.
std::vector<ConnectionOptions> kinds() {
  return {ConnectionOptions{}, holding(1s, acknowledged())};
}

}  // namespace

TEST_CASE("after a Send without a receive, one end names the Send, and both ends give advice") {
  for (const auto& options : kinds()) {
    auto [pair, mine, inbox] = Ready(kBytes, options, options);
    post_recv(*pair.b, 100, sge(inbox, 0, kBytes));
    post_send(*pair.a, 1, sge(mine, 0, 8));
    post_send(*pair.a, 2, sge(mine, 0, 10));
    pair.run();
    pair.advance(2s);
    const std::string verdict =
        "no receive was posted for the message (at the receiving end, post enough receives before "
        "the other end sends, and repost each receive that completes) [Terminate 1/2/02, "
        "vendor_err 0x11202]";
    CHECK(why(*pair.a) == "the peer refused Send wr_id 0x2 (10 bytes): " + verdict);
    CHECK(why(*pair.b) ==
          "this end refused the peer's Send number 2 (segment of 10 bytes): " + verdict);
    CHECK_FALSE(orderly(*pair.a));
    CHECK_FALSE(orderly(*pair.b));
  }
}

TEST_CASE("a close while a Send waits for its receive refuses the Send") {
  const auto options = holding(1s);
  Connected pair(options, options);
  Region* mine = pair.a->memory(kBytes, kEverything);
  post_send(*pair.a, 1, sge(mine, 0, 10));
  pair.run();
  pair.b->connection->disconnect(pair.b->now);
  pair.run();
  CHECK(why(*pair.a).starts_with(
      "the peer refused Send wr_id 0x1 (10 bytes): no receive was posted for the message (at "
      "the receiving end, post"));
  CHECK(why(*pair.b).starts_with("this end refused the peer's Send number 1"));
  CHECK_FALSE(orderly(*pair.a));
  CHECK_FALSE(orderly(*pair.b));
}

TEST_CASE("an end with acknowledged completions that closes while a Send waits is notified") {
  const auto options = holding(1s, acknowledged());
  Connected pair(options, options);
  Region* mine = pair.a->memory(kBytes, kEverything);
  post_send(*pair.a, 1, sge(mine, 0, 10));
  pair.run();
  pair.b->connection->abort();
  pair.a->connection->lost(pair.a->now);
  CHECK(why(*pair.b) ==
        "this end aborted the connection while a message from the peer waited: no receive was "
        "posted for the message (at the receiving end, post enough receives before the other end "
        "sends, and repost each receive that completes)");
  CHECK_FALSE(orderly(*pair.b));
  CHECK(why(*pair.a) ==
        "the peer reset the connection, or the network failed, with 1 request outstanding at this "
        "end: Send wr_id 0x1 (10 bytes)");
}

TEST_CASE("after a refused Write or Read, the reports name the key, the address and the right") {
  struct Refused {
    bool read;
    Access registered, accepted;
    bool wrong_rkey;
    std::string_view at_sender, at_receiver;
  };
  const Refused rows[] = {
      {false, kEverything, kEverything, true, "no memory is registered under this key (",
       "no memory is registered under this key ("},
      {true, Access::kRemoteWrite, kEverything, false, "the region does not allow this access (",
       "the region does not have IBV_ACCESS_REMOTE_READ (register it with IBV_ACCESS_REMOTE_READ) "
       "[Terminate 0/1/02, vendor_err 0x10102]"},
      {true, kEverything, Access::kRemoteWrite, false,
       "the receiving end does not accept this kind of request (set IBV_ACCESS_REMOTE_WRITE, _READ "
       "or _ATOMIC in qp_access_flags at the receiving end",
       "the queue pair does not have IBV_ACCESS_REMOTE_READ (set IBV_ACCESS_REMOTE_READ in its "
       "qp_access_flags) [Terminate 0/2/06, vendor_err 0x10206]"}};
  for (const auto& options : kinds()) {
    for (const Refused& row : rows) {
      Connected pair(options, options, {}, {}, {.inbound = row.accepted});
      const Sge mine = sge(pair.a->memory(kBytes, kEverything), 0, kBytes);
      RemoteAddress at = remote(pair.b->memory(kBytes, row.registered));
      if (row.wrong_rkey) at = wrong_key(at);
      row.read ? post_read(*pair.a, 0x7f0000001000, mine, at)
               : post_write(*pair.a, 0x7f0000001000, mine, at);
      pair.run();
      const auto memory = fmt::format("rkey {:#x}, address {:#x}", at.rkey.value, at.to);
      const char* request = row.read ? "RDMA Read" : "RDMA Write";
      CHECK(why(*pair.a).starts_with(
          fmt::format("the peer refused {} wr_id 0x7f0000001000 (64 bytes, {}): {}", request,
                      memory, row.at_sender)));
      CHECK(why(*pair.b).starts_with(fmt::format(
          "this end refused the peer's {} (64 bytes, {}): {}", request, memory, row.at_receiver)));
    }
  }
}

TEST_CASE("after a message that is too long, the report names the receive and its size") {
  for (const auto& options : kinds()) {
    auto [pair, mine, inbox] = Ready(kBytes, options, options);
    post_recv(*pair.b, 9, sge(inbox, 0, 16));
    post_send(*pair.a, 4, sge(mine, 0, kBytes));
    pair.run();
    CHECK(why(*pair.a).starts_with(
        "the peer refused Send wr_id 0x4 (64 bytes): the message is longer "
        "than the receive that was posted for it ("));
    CHECK(why(*pair.b).starts_with(
        "this end refused the peer's Send number 1 (segment of 64 bytes): the message is longer "
        "than "
        "the receive that was posted for it, receive wr_id 0x9 (16 bytes) ("));
  }
}

TEST_CASE("after an invalid lkey the local report names it, and the peer's this end") {
  for (const auto& options : kinds()) {
    auto [pair, mine, inbox] = Ready(kBytes, options, options);
    post_recv(*pair.b, 9, sge(inbox, 0, kBytes));
    const Sge bad = wrong_key(sge(mine, 0, kBytes));
    post_send(*pair.a, 5, bad);
    pair.run();
    CHECK(
        why(*pair.a) ==
        fmt::format("Send wr_id 0x5 (64 bytes) failed: lkey {:#x} (address {:#x}, 64 bytes): no "
                    "memory is registered under this lkey (use the lkey of a region that is still "
                    "registered)",
                    bad.lkey.value, verbs::virtual_address(bad.address)));
    CHECK(why(*pair.b).starts_with(
        "the peer sent a Terminate: the end that sent the Terminate had a local error ("));
  }
}

TEST_CASE("after a receive into unregistered memory, the report of that end names it") {
  Connected pair;
  Region* mine = pair.a->memory(kBytes, kEverything);
  const Sge bad = wrong_key(sge(pair.b->memory(kBytes, kEverything), 0, kBytes));
  post_recv(*pair.b, 9, bad);
  post_send(*pair.a, 5, sge(mine, 0, 8));
  pair.run();
  CHECK(why(*pair.b).starts_with(
      fmt::format("receive wr_id 0x9 (64 bytes) cannot accept the peer's message: lkey {:#x} (",
                  bad.lkey.value)));
  CHECK(
      why(*pair.a).starts_with("the peer refused Send wr_id 0x5 (8 bytes): the receiver could not "
                               "place a message, "));
}

TEST_CASE("the overflow of a completion queue is reported by name") {
  for (const auto& options : kinds()) {
    verbs::CompletionQueue tiny(2, nullptr);
    Connected pair(options, options, {}, {.send_cq = &tiny});
    Region* mine = pair.a->memory(kBytes, kEverything);
    const RemoteAddress at = remote(pair.b->memory(kBytes, kEverything));
    for (std::uint64_t i = 0; i < 3; ++i) post_write(*pair.a, i, sge(mine, 0, 8), at);
    carry(*pair.a, *pair.b);
    // This Write is outstanding when the completion queue overflows and loses the third completion.
    post_write(*pair.a, 3, sge(mine, 0, 8), at);
    carry(*pair.b, *pair.a);
    pair.run();
    CHECK(why(*pair.a).starts_with("a completion queue of this end overflowed ("));
  }
}

TEST_CASE("the report of a lost peer has the number of outstanding requests, and the oldest") {
  Connected pair(acknowledged(), acknowledged());
  Region* mine = pair.a->memory(kBytes, kEverything);
  post_send(*pair.a, 6, sge(mine, 0, 8));
  post_send(*pair.a, 7, sge(mine, 0, 8));
  SUBCASE("by a reset") {
    pair.a->connection->lost(pair.a->now);
    CHECK(why(*pair.a) ==
          "the peer reset the connection, or the network failed, with 2 requests outstanding at "
          "this end, the oldest Send wr_id 0x6 (8 bytes)");
  }
  SUBCASE("by a FIN") {
    pair.a->connection->peer_closed(pair.a->now);
    CHECK(
        why(*pair.a) ==
        "the peer closed the connection, with 2 requests outstanding at this end, the oldest Send "
        "wr_id 0x6 (8 bytes)");
  }
  CHECK_FALSE(orderly(*pair.a));
}

TEST_CASE("without outstanding requests a close, a reset and an abort are orderly") {
  Connected pair;
  CHECK(pair.a->connection->end().cause == Cause::kNone);
  SUBCASE("closed") {
    pair.a->connection->disconnect(pair.a->now);
    pair.run();
    CHECK(why(*pair.a) == "both ends closed the connection");
    CHECK(why(*pair.b) == "both ends closed the connection");
  }
  SUBCASE("reset") {
    pair.a->connection->abort();
    pair.b->connection->lost(pair.b->now);
    CHECK(why(*pair.a) == "this end aborted the connection");
    CHECK(why(*pair.b) == "the peer reset the connection, or the network failed");
  }
  CHECK(orderly(*pair.a));
  CHECK(orderly(*pair.b));
}

TEST_CASE("the next connection does not report the end of the previous one [VRB-16]") {
  Connected pair;
  Region* mine = pair.a->memory(kBytes, kEverything);
  const RemoteAddress wrong = wrong_key(remote(pair.b->memory(kBytes, kEverything)));
  post_write(*pair.a, 1, sge(mine, 0, 8), wrong);
  pair.run();
  CHECK(pair.a->connection->end().cause == Cause::kTerminateReceived);
  CHECK(pair.b->connection->end().memory.has_value());
  REQUIRE(!pair.a->qp->reset());
  REQUIRE(!pair.b->qp->reset());
  pair.renew({}, {});
  REQUIRE(pair.establish());
  CHECK(received_code(*pair.a) == "none");
  CHECK(pair.a->qp->reset() == verbs::Errc::kWrongState);
  pair.a->connection->lost(pair.a->now);
  pair.b->connection->lost(pair.b->now);
  CHECK(why(*pair.a) == "the peer reset the connection, or the network failed");
  CHECK_FALSE(pair.b->connection->end().memory.has_value());
}
