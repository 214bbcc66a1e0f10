// SPDX-License-Identifier: Apache-2.0
// Tests connecting, accepting, rejecting, and every way in which connecting can fail.
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

TEST_CASE("the connecting side may close because of the private data in the Reply [MPA-95]") {
  Pair pair;
  pair.start();
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  REQUIRE_FALSE(event.request->accept(*pair.b.qp, 16, 16, octets("not what you want")));
  CHECK_EQ(expect(*pair.a.cm, Type::kEstablished).private_data, octets("not what you want"));
  expect(*pair.b.cm, Type::kEstablished);
  REQUIRE_FALSE(pair.a.qp->disconnect());
  for (End* end : {&pair.a, &pair.b}) {
    expect(*end->cm, Type::kDisconnected);
    CHECK_EQ(to_string(end->qp->state()), to_string(verbs::QpState::kIdle));
  }
}

TEST_CASE("the largest private data is sent, and one octet more is refused [MPA-80] [EMPA-10]") {
  for (const std::uint8_t revision : {std::uint8_t{1}, std::uint8_t{2}}) {
    const std::size_t most = revision == 1 ? 512 : 508;
    Pair pair;
    ConnectOptions options;
    options.connection.startup.revision = revision;
    options.private_data = pattern(most + 1, 3);
    CHECK_EQ(pair.rnic->connect(*pair.a.qp, pair.listener->local(), options, *pair.a.cm),
             make_error_code(Errc::kPrivateDataTooLong));
    options.private_data.resize(most);
    pair.start(options);
    auto event = expect(*pair.b.cm, Type::kConnectRequest);
    CHECK_EQ(event.private_data, options.private_data);
    CHECK_EQ(event.request->accept(*pair.b.qp, 16, 16, pattern(most + 1, 4)),
             make_error_code(Errc::kPrivateDataTooLong));
    REQUIRE_FALSE(event.request->accept(*pair.b.qp, 16, 16, pattern(most, 4)));
    CHECK_EQ(expect(*pair.a.cm, Type::kEstablished).private_data, pattern(most, 4));
  }
}

TEST_CASE("every way to connect refuses an IRD or ORD beyond its field on the wire [VRB-24]") {
  Pair pair;
  constexpr std::uint16_t kTooMany = mpa::kMaxReads + 1;
  const auto error = make_error_code(Errc::kOrdTooLarge);
  for (const bool inbound : {true, false}) {
    ConnectOptions connect;
    ListenOptions listen;
    for (auto* startup : {&connect.connection.startup, &listen.connection.startup}) {
      (inbound ? startup->ird : startup->ord) = kTooMany;
    }
    CHECK_EQ(pair.a.rnic.connect(*pair.a.qp, pair.listener->local(), connect, *pair.a.cm), error);
    CHECK_EQ(pair.b.rnic.listen({.host = "127.0.0.1"}, listen, *pair.b.cm).error(), error);
    CHECK_EQ(pair.b.rnic.adopt_responder(-1, listen, *pair.b.cm), error);
  }
  pair.start();
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(event.request->accept(*pair.b.qp, kTooMany, 1), error);
  CHECK_EQ(event.request->accept(*pair.b.qp, 1, kTooMany), error);
  CHECK_FALSE(event.request->accept(*pair.b.qp, mpa::kMaxReads, mpa::kMaxReads));
  expect(*pair.a.cm, Type::kEstablished);
}

TEST_CASE("the initiator sees a dropped request as a reset, and it cannot be decided later") {
  Pair pair;
  pair.start({.fall_back_to_revision_1 = false});
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  event.request->drop();
  CHECK_EQ(event.request->reject(), make_error_code(Errc::kWrongState));
  const auto outcome = expect(*pair.a.cm, Type::kConnectFailed);
  CHECK_EQ(outcome.error, make_error_code(Errc::kConnectionReset));
  CHECK_EQ(outcome.qp_num, pair.a.qp->num());
}

TEST_CASE("events contain the addresses of both ends") {
  Pair pair;
  for (const bool accept : {false, true}) {
    CAPTURE(accept);
    pair.start();
    auto event = expect(*pair.b.cm, Type::kConnectRequest);
    const auto active = event.request->peer();
    CHECK_EQ(event.peer, active);
    CHECK_EQ(event.local, pair.listener->local());
    if (accept) {
      REQUIRE_FALSE(event.request->accept(*pair.b.qp));
    } else {
      event.request.reset();
    }
    const auto outcome = expect(*pair.a.cm, accept ? Type::kEstablished : Type::kRejected);
    CHECK_EQ(outcome.local, active);
    CHECK_EQ(outcome.peer, pair.listener->local());
    if (!accept) continue;
    const auto passive = expect(*pair.b.cm, Type::kEstablished);
    CHECK_EQ(passive.local, pair.listener->local());
    CHECK_EQ(passive.peer, active);
    REQUIRE_FALSE(pair.a.qp->disconnect());
    CHECK_EQ(expect(*pair.a.cm, Type::kDisconnected).local, active);
    CHECK_EQ(expect(*pair.b.cm, Type::kDisconnected).peer, active);
  }
}

TEST_CASE("a name that does not exist, and port 0, are reported as unusable addresses") {
  Pair pair;
  REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, {"no-such-host.invalid", 1}, {}, *pair.a.cm));
  const auto outcome = expect(*pair.a.cm, Type::kConnectFailed);
  CHECK_EQ(outcome.error, make_error_code(Errc::kAddressInvalid));
  CHECK(outcome.why.starts_with("unknown host no-such-host.invalid: "));
  CHECK_EQ(outcome.peer, Address{});
  CHECK_EQ(pair.rnic->connect(*pair.a.qp, {"127.0.0.1", 0}, {}, *pair.a.cm),
           make_error_code(Errc::kAddressInvalid));
}

TEST_CASE("names resolve, IPv6 works, and a listener without an address accepts IPv4 and IPv6") {
  {
    Pair pair(1 << 12, {}, {"localhost", 0});
    ConnectOptions options;
    REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, {"localhost", pair.listener->local().port},
                                     options, *pair.a.cm));
    expect(*pair.b.cm, Type::kConnectRequest);
  }
  const auto connects = [](const Address& at, const char* to) {
    Pair pair(1 << 12, {}, at);
    REQUIRE_FALSE(
        pair.rnic->connect(*pair.a.qp, {to, pair.listener->local().port}, {}, *pair.a.cm));
    auto event = expect(*pair.b.cm, Type::kConnectRequest);
    CHECK_EQ(event.request->peer().host, to);
    REQUIRE_FALSE(event.request->accept(*pair.b.qp));
    expect(*pair.a.cm, Type::kEstablished);
  };
  connects({"::1", 0}, "::1");
  connects({"", 0}, "::1");
  connects({"", 0}, "127.0.0.1");
}
