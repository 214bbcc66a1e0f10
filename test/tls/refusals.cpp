// SPDX-License-Identifier: Apache-2.0
// Tests handshakes that fail, peers without TLS, and peers that stall. Neither program may see a
// connection, and none of its data may be sent.
#include <algorithm>

#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/statistics.hpp"
#include "iwarp/verbs/errors.hpp"
#include "support_tls.hpp"

using namespace iwarp;       // NOLINT
using namespace iwarp::net;  // NOLINT
using namespace iwarp::tls;  // NOLINT

namespace {

/// Records the calls of ListenOptions::setup_failed, whose reason is the carrier.
class Refusals {
 public:
  std::function<void(const Address&, SetupFailure, const std::string&)> teller() {
    return [this](const Address& peer, SetupFailure reason, const std::string& why) {
      if (reason == SetupFailure::kCarrier) ChannelPort::push(told_, {.peer = peer, .why = why});
    };
  }
  std::string next() {
    auto event = told_.wait(kLimit).value();
    return event.why;
  }
  bool are_none() { return !told_.poll().has_value(); }

 private:
  CmChannel told_;
};

/// The result of a failed connection attempt from `asking` to `serving`. Neither program is
/// notified of a connection.
struct Failed {
  std::string client;  ///< the error that the connecting program gets
  std::string server;  ///< the reason that the listening end reports
};
Failed connect_in_vain(const TlsOptions& serving, const TlsOptions& asking) {
  Refusals refusals;
  auto listen = served_by(serving);
  listen.setup_failed = refusals.teller();
  auto pair = pair_served_by(listen);
  auto options = asked_by(asking);
  options.private_data = octets("secret private data");
  pair.start(options);
  const auto failed = expect(*pair.a.cm, Type::kConnectFailed);
  CHECK_EQ(failed.error, Errc::kCarrierFailed);
  Failed out{.client = failed.why, .server = refusals.next()};
  CHECK_FALSE(pair.b.cm->poll().has_value());
  const auto statistics = pair.rnic->statistics();
  CHECK_EQ(failed_by(statistics.active, SetupFailure::kCarrier), 1);
  CHECK_EQ(failed_by(statistics.passive, SetupFailure::kCarrier), 1);
  CHECK_EQ(statistics.active.begun, 1);  // The client did not retry with MPA revision 1.
  return out;
}

constexpr auto kNotTaken = "this end refused the peer's certificate: ";

}  // namespace

TEST_CASE("a client refuses a certificate: another name, expired, unknown authority") {
  const Credentials credentials;
  const auto elsewhere = credentials.authority.issue("storage.example");
  const auto expired = credentials.authority.issue("127.0.0.1", 0);
  const Authority stranger("stranger");
  const auto foreign = stranger.issue("127.0.0.1");
  struct Row {
    Issued own;
    std::string why;
  };
  for (const auto& [own, why] :
       {Row{elsewhere, "hostname mismatch"}, Row{expired, "certificate has expired"},
        Row{foreign, "unable to get local issuer certificate"}}) {
    const auto failed = connect_in_vain(credentials.with(own), credentials.asking());
    CHECK_EQ(failed.client, kNotTaken + why);
    CHECK(failed.server.starts_with("the peer refused the TLS handshake: "));
  }
}

TEST_CASE("a listener refuses a client: no certificate, another name, unknown authority") {
  const Credentials credentials;
  const Authority stranger("stranger");
  const auto unknown = credentials.with(stranger.issue("client"));
  auto serving = credentials.serving();
  auto failed = connect_in_vain(serving, only_authorities(credentials.authority));
  CHECK_EQ(failed.server, "TLS handshake: peer did not return a certificate");
  CHECK(failed.client.starts_with("the peer refused the TLS handshake: "));
  failed = connect_in_vain(serving, unknown);
  CHECK_EQ(failed.server, std::string(kNotTaken) + "unable to get local issuer certificate");
  CHECK(failed.client.starts_with("the peer refused the TLS handshake: "));
  serving.peer_names = {"somebody else"};
  failed = connect_in_vain(serving, credentials.asking());
  CHECK_EQ(failed.server, std::string(kNotTaken) + "hostname mismatch");
}

TEST_CASE("a shared key is wrong, unknown, or missing") {
  const Credentials credentials;
  const Folder folder;
  const auto right = folder.file("right", "lab:00112233445566778899aabbccddeeff\n");
  const auto wrong = folder.file("wrong", "lab:00112233445566778899aabbccddee00\n");
  const auto unknown = folder.file("unknown", "den:00112233445566778899aabbccddeeff\n");
  const auto serving = only_shared_key(right);
  CHECK_EQ(connect_in_vain(serving, only_shared_key(wrong)).server,
           "TLS handshake: binder does not verify");
  for (const auto& asking : {only_shared_key(unknown), only_authorities(credentials.authority)}) {
    const auto failed = connect_in_vain(serving, asking);
    CHECK(failed.server.starts_with("TLS handshake: no suitable"));
    CHECK(failed.client.starts_with("the peer refused the TLS handshake: "));
  }
  // A certificate does not replace the shared key, even if a trusted authority has issued it.
  const auto failed = connect_in_vain(credentials.serving(), only_shared_key(right));
  CHECK(failed.client.starts_with(kNotTaken));
}

TEST_CASE("an end with TLS and one without refuse each other, and both programs get the reason") {
  const std::string remedy = "(use TLS at both ends or at neither)";
  const Credentials credentials;
  Refusals refusals;
  ListenOptions listen;
  ConnectOptions connect;
  std::string client;
  std::string server;
  SUBCASE("only the listener requires TLS") {
    listen = served_by(credentials.serving());
    client = "the peer uses TLS and this end does not " + remedy;
    server = "this end uses TLS and the peer does not " + remedy;
  }
  SUBCASE("only the client uses TLS") {
    connect = asked_by(credentials.asking());
    client = "the peer closed or reset TCP during the TLS handshake (check that the peer uses TLS)";
    server = "the peer uses TLS and this end does not " + remedy;
  }
  listen.setup_failed = refusals.teller();
  auto pair = pair_served_by(listen);
  pair.start(connect);
  const auto failed = expect(*pair.a.cm, Type::kConnectFailed);
  CHECK_EQ(failed.error, Errc::kCarrierFailed);
  CHECK(failed.why.ends_with(client));
  CHECK_EQ(refusals.next(), server);
  CHECK_FALSE(pair.b.cm->poll().has_value());
}

TEST_CASE("a client whose connection drops after the handshake retries, and does not blame TLS") {
  const Credentials credentials;
  Refusals refusals;
  auto listen = served_by(credentials.serving());
  listen.setup_failed = refusals.teller();
  auto pair = pair_served_by(listen);
  auto options = asked_by(credentials.asking());

  SUBCASE("retries until the time limit") {
    options.retry_refused_for = kLimit;
    pair.start(options);
    expect(*pair.b.cm, Type::kConnectRequest).request->drop();
    const auto request = expect(*pair.b.cm, Type::kConnectRequest);
    REQUIRE_FALSE(request.request->accept(*pair.b.qp));
    expect(*pair.a.cm, Type::kEstablished);
  }
  SUBCASE("does not retry") {
    options.fall_back_to_revision_1 = false;
    pair.start(options);
    expect(*pair.b.cm, Type::kConnectRequest).request->drop();
    CHECK_EQ(expect(*pair.a.cm, Type::kConnectFailed).error, Errc::kConnectionReset);
    CHECK_EQ(failed_by(pair.rnic->statistics().active, SetupFailure::kReset), 1);
  }
  CHECK(refusals.are_none());
}

TEST_CASE("no octet of the program is sent before the peer is verified") {
  const Credentials credentials;
  Pair pair;
  auto options = asked_by(credentials.asking());
  options.private_data = octets("secret private data");

  SUBCASE("to a listener that never answers") {
    RawListener listener;
    options.connection.startup.timeout = 300ms;
    REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, listener.address(), options, *pair.a.cm));
    auto peer = listener.accept();
    const auto begin = peer.receive(100);  // the beginning of a ClientHello
    CHECK_EQ(static_cast<int>(begin[0]), 22);
    CHECK(std::ranges::search(begin, octets("MPA ID")).empty());
    expect(*pair.a.cm, Type::kConnectFailed);
    CHECK_EQ(failed_by(pair.rnic->statistics().active, SetupFailure::kTimedOut), 1);
  }
  SUBCASE("to a listener whose certificate an unknown authority has issued") {
    const Authority stranger("stranger");
    const auto foreign = stranger.issue("127.0.0.1");
    RawListener listener;
    REQUIRE_FALSE(pair.rnic->connect(*pair.a.qp, listener.address(), options, *pair.a.cm));
    TlsPeer peer(listener.accept().release(), false, &foreign);
    CHECK_FALSE(peer.shake_hands());
    CHECK(peer.hear_all().empty());
    expect(*pair.a.cm, Type::kConnectFailed);
  }
  SUBCASE("to a client without a certificate, whatever the client requests") {
    auto listener =
        must(pair.rnic->listen({"127.0.0.1", 0}, served_by(credentials.serving()), *pair.b.cm));
    TlsPeer peer(TlsPeer::connect(listener->local().port), true, nullptr);
    // In TLS 1.3, the client's handshake is complete before the server has checked the client's
    // certificate.
    CHECK(peer.shake_hands());
    peer.send_request();
    CHECK(peer.hear_all().empty());
    CHECK_FALSE(pair.b.cm->poll().has_value());
  }
}

TEST_CASE("a peer that stalls the handshake is reset in time, or evicted, as with MPA") {
  const Credentials credentials;
  auto listen = served_by(credentials.serving());
  SUBCASE("the startup timeout") {
    listen.connection.startup.timeout = 300ms;
    auto pair = pair_served_by(listen);
    auto silent = RawPeer::connect(pair.listener->local().port);
    silent.send({std::byte{22}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{0}});
    silent.wait_for_end();
    CHECK_EQ(failed_by(pair.rnic->statistics().passive, SetupFailure::kTimedOut), 1);
    // This peer stalls after the handshake and before its Request.
    TlsPeer mute(TlsPeer::connect(pair.listener->local().port), true, &credentials.client);
    REQUIRE(mute.shake_hands());
    CHECK(mute.hear_all().empty());
    CHECK_EQ(failed_by(pair.rnic->statistics().passive, SetupFailure::kTimedOut), 2);
  }
  SUBCASE("the limit on pending set-ups") {
    Pair pair(1 << 12, {.max_pending_connects = 2}, {"127.0.0.1", 0}, listen);
    const auto port = pair.listener->local().port;
    auto oldest = RawPeer::connect(port);
    auto second = RawPeer::connect(port);
    pair.start(asked_by(credentials.asking()));
    expect(*pair.b.cm, Type::kConnectRequest);
    CHECK(oldest.wait_for_end());
    CHECK_FALSE(second.has_ended());
  }
}
