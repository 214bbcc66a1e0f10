// SPDX-License-Identifier: Apache-2.0
// Tests behaviours of existing peers: some support only old revisions, some close without an
// answer, and one needs a delay before it can receive. Checks how the initiator retries and what it
// reports to the program.
#include <doctest/doctest.h>

#include <ostream>

#include "raw_peer.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;
using Type = CmEvent::Type;

namespace {

mpa::StartupFrame decoded(bytes::View octets) {
  const auto frame = mpa::decode_startup_frame(mpa::FrameKind::kRequest, octets);
  REQUIRE(frame.has_value());
  return std::get<mpa::StartupFrame>(*frame);
}

}  // namespace

TEST_CASE(
    "after a peer closes on an enhanced Request, the initiator retries with revision 1 [EMPA-50]") {
  RawListener server;
  Pair pair;
  ConnectOptions options;
  options.private_data = octets("hello");
  options.connection.startup.rtr = mpa::Rtr::kWrite;
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, server.address(), options, *pair.a.cm));
  {
    auto old = server.accept();
    const auto request = old.receive_request();
    CHECK_EQ(decoded(request).revision, 2);
    CHECK(mpa::ends_with_extensions_tag(mpa::FrameKind::kRequest, request));
    old.close();
  }
  auto again = server.accept();
  const auto request = again.receive_request();
  CHECK_EQ(decoded(request).revision, 1);
  CHECK_FALSE(decoded(request).enhanced);
  const auto data = decoded(request).private_data;
  CHECK_EQ(std::vector(data.begin(), data.end()), options.private_data);
  again.send_startup({.kind = mpa::FrameKind::kReply});
  expect(*pair.a.cm, Type::kEstablished);
}

TEST_CASE(
    "after a peer accepts without the enhanced word, the initiator retries with revision 1 "
    "[EMPA-50]") {
  RawListener server;
  Pair pair;
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, server.address(), {}, *pair.a.cm));
  auto old = server.accept();
  old.receive_request();
  old.send_startup({.kind = mpa::FrameKind::kReply});
  auto again = server.accept();
  CHECK_EQ(decoded(again.receive_request()).revision, 1);
  again.send_startup({.kind = mpa::FrameKind::kReply});
  expect(*pair.a.cm, Type::kEstablished);
}

TEST_CASE("a rejection is an answer and is not retried [MPA-91]") {
  RawListener server;
  Pair pair;
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, server.address(), {}, *pair.a.cm));
  auto peer = server.accept();
  peer.receive_request();
  peer.send_startup({.kind = mpa::FrameKind::kReply, .rejected = true});
  expect(*pair.a.cm, Type::kRejected);
  peer.wait_for_end();
}

TEST_CASE(
    "if a peer closes on private data that some peers refuse, the error mentions the private "
    "data") {
  const auto why = [](std::size_t size) {
    RawListener server;
    Pair pair;
    ConnectOptions options;
    options.private_data = pattern(size, 3);
    options.fall_back_to_revision_1 = false;
    REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, server.address(), options, *pair.a.cm));
    auto peer = server.accept();
    peer.receive_request();
    peer.close();
    return expect(*pair.a.cm, Type::kConnectFailed).why;
  };
  const std::string hint =
      " (the Request has 257 octets of private data; some peers accept at most 256)";
  CHECK(why(253).ends_with(hint));  // The enhanced MPA header adds 4 octets.
  CHECK_EQ(why(252).find("private data"), std::string::npos);
}

TEST_CASE("an initiator with first_fpdu_delay sends when the delay after the Reply has passed") {
  RawListener server;
  Pair pair;
  ConnectOptions options;
  options.connection.first_fpdu_delay = 20ms;
  options.connection.startup.revision = 1;
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, server.address(), options, *pair.a.cm));
  auto peer = server.accept();
  peer.receive_request();
  peer.send_startup({.kind = mpa::FrameKind::kReply});
  expect(*pair.a.cm, Type::kEstablished);
  REQUIRE_FALSE(pair.a.post(verbs::WrOpcode::kSend, 0, 8));
  // Nothing else is posted, polled or received, so only the worker's timer can send this message.
  CHECK_EQ(bytes::load_be<std::uint16_t>(peer.receive(32).data()), 18 + 8);
  pair.a.expect_success();
}

TEST_CASE("two ends of this stack announce RFC 7306 to each other [EXT-1]") {
  for (const bool wanted : {true, false}) {
    ListenOptions listen;
    listen.connection.startup.extensions = wanted;
    Pair pair(1 << 12, {}, {"127.0.0.1", 0}, listen);
    ConnectOptions options;
    options.private_data = octets("who is there?");
    pair.start(options);
    auto event = expect(*pair.b.cm, Type::kConnectRequest);
    CHECK_EQ(event.private_data, options.private_data);
    CHECK(event.request->offer().extensions);
    REQUIRE_FALSE(event.request->accept(*pair.b.qp, 16, 16, octets("me")));
    const auto established = expect(*pair.a.cm, Type::kEstablished);
    CHECK_EQ(established.private_data, octets("me"));
    CHECK_EQ(established.offer->extensions, wanted);
  }
}
