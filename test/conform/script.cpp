// SPDX-License-Identifier: Apache-2.0
// Tests how a case handles peers that would keep it busy forever.
#include "conform/script/script.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "conform/script/fpdu.hpp"

namespace iwarp::test {

using namespace apps::conform;

namespace {

constexpr std::size_t kMiB = 1 << 20;

/// Accepts a connection, answers a Request of revision 1 with a Reply, and then calls `talk`.
class StubbornPeer {
 public:
  template <typename Talk>
  explicit StubbornPeer(Talk talk)
      : thread_([this, talk] {
          Link link = acceptor_.accept(Clock::now() + std::chrono::seconds(60));
          Octets request(mpa::kStartupHeaderSize);
          std::size_t size = 0;
          if (link.receive(request, size, Clock::now() + std::chrono::seconds(60)) !=
              Link::Got::kOctets) {
            return;
          }
          Octets reply(mpa::startup_frame_size(0));
          bytes::Writer writer(reply);
          mpa::encode({.kind = mpa::FrameKind::kReply, .crc = true, .private_data = {}}, writer);
          talk(
              [&](bytes::View octets) {
                return link.send(octets, Clock::now() + std::chrono::seconds(60));
              },
              reply);
        }) {}

  Target target(std::chrono::milliseconds limit) const {
    return {.address = {.host = "127.0.0.1", .port = acceptor_.port()},
            .revision = 1,
            .time_limit = limit};
  }

 private:
  Acceptor acceptor_{{.host = "127.0.0.1", .port = 0}};
  // The last member, so that the thread is joined before the other members are destroyed.
  std::jthread thread_;
};

}  // namespace

TEST_CASE("a peer that never stops sending does not block a case for ever") {
  // The peer stops after 30 seconds, so that a tester that waits for the end of the stream fails
  // instead of blocking forever.
  const StubbornPeer peer([](const auto& send, const Octets& reply) {
    Framing framing;
    const auto small = make_fpdu(make_ulpdu(untagged(rdmap::Opcode::kSend, 1), {}), framing);
    Octets burst;  // The peer sends this faster than the tester can read it.
    while (burst.size() < kMiB) burst.insert(burst.end(), small.begin(), small.end());
    send(reply);
    for (const auto until = Clock::now() + std::chrono::seconds(30); Clock::now() < until;) {
      if (!send(burst)) return;
    }
  });
  Script script(peer.target(std::chrono::seconds(2)));
  script.establish();
  CHECK_THROWS_AS(script.expect_end(), Failed);
}

TEST_CASE("the octets of a message that does not end are not stored") {
  const StubbornPeer peer([](const auto& send, const Octets& reply) {
    Framing framing;
    send(reply);
    auto header = tagged(rdmap::Opcode::kReadResponse, Script::kOurStag, Script::kOurTo);
    for (std::size_t sent = 0; sent <= 2 * kMiB; sent += 4096) {
      header.last = sent == 2 * kMiB;
      if (!send(make_fpdu(make_ulpdu(header, Octets(4096)), framing))) return;
    }
  });
  Script script(peer.target(std::chrono::seconds(60)));
  script.establish();
  try {
    script.expect(rdmap::Opcode::kReadResponse);
    FAIL("a message of 2 MiB was taken");
  } catch (const Failed& failed) {
    CHECK(failed.observed == "a message of more than 1048576 octets");
  }
}

}  // namespace iwarp::test
