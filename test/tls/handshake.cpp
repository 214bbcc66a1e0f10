// SPDX-License-Identifier: Apache-2.0
// Tests handshakes that succeed, with certificates, names, shared keys and tickets. Also tests
// which identity each end then reports.
#include "iwarp/verbs/errors.hpp"
#include "support_tls.hpp"

using namespace iwarp;       // NOLINT
using namespace iwarp::net;  // NOLINT
using namespace iwarp::tls;  // NOLINT

namespace {

struct Known {
  std::string server;  ///< the server's identity, as the client sees it
  std::string client;  ///< the client's identity, as the server sees it
};

Known connect(Pair& pair, const ConnectOptions& options) {
  pair.start(options);
  auto request = expect(*pair.b.cm, Type::kConnectRequest);
  REQUIRE_FALSE(request.request->accept(*pair.b.qp));
  auto established = expect(*pair.a.cm, Type::kEstablished);
  expect(*pair.b.cm, Type::kEstablished);
  return {.server = established.peer_identity, .client = request.peer_identity};
}

void check_all_operations(Pair& pair) {
  pair.b.post_recv(0, 100, 7);
  pair.a.perform(WrOpcode::kSend, 0, 100);
  CHECK_EQ(pair.b.completion().byte_len, 100);
  pair.a.perform(WrOpcode::kWrite, 0, 30'000, pair.b.remote(1000));
  pair.a.perform(WrOpcode::kRead, 30'000, 30'000, pair.b.remote(1000));
  CHECK(std::equal(pair.a.buffer.begin(), pair.a.buffer.begin() + 30'000,
                   pair.a.buffer.begin() + 30'000));
}

void end_and_reset(Pair& pair) {
  REQUIRE_FALSE(pair.a.qp->disconnect());
  expect(*pair.a.cm, Type::kDisconnected);
  expect(*pair.b.cm, Type::kDisconnected);
  CHECK_EQ(static_cast<int>(pair.a.qp->state()), static_cast<int>(verbs::QpState::kIdle));
  CHECK_EQ(static_cast<int>(pair.b.qp->state()), static_cast<int>(verbs::QpState::kIdle));
}

}  // namespace

TEST_CASE("with certificates all operations work, and each end knows the other's identity") {
  const Credentials credentials;
  auto pair = pair_served_by(served_by(credentials.serving()));
  const auto known = connect(pair, asked_by(credentials.asking()));
  CHECK_EQ(known.server, "127.0.0.1 (TLS_AES_128_GCM_SHA256)");
  CHECK_EQ(known.client, "client (TLS_AES_128_GCM_SHA256)");
  check_all_operations(pair);
  end_and_reset(pair);
}

TEST_CASE("a listener without authorities requests no certificate and learns no identity") {
  const Credentials credentials;
  auto serving = credentials.serving();
  serving.authorities.clear();
  auto pair = pair_served_by(served_by(serving));
  const auto known = connect(pair, asked_by(only_authorities(credentials.authority)));
  CHECK_EQ(known.client, "TLS_AES_128_GCM_SHA256");
  check_all_operations(pair);
}

TEST_CASE("a name that the program specifies replaces the host to which it connects") {
  const Credentials credentials;
  auto serving = credentials.with(credentials.authority.issue("storage.example"));
  serving.peer_names = {"nobody", "client"};
  auto pair = pair_served_by(served_by(serving));
  auto asking = credentials.asking();
  asking.peer_names = {"10.0.0.1", "storage.example"};
  CHECK_EQ(connect(pair, asked_by(asking)).server, "storage.example (TLS_AES_128_GCM_SHA256)");
}

TEST_CASE("a shared key works without certificates, and its identity is reported") {
  const Folder folder;
  const auto keys = folder.file("keys",
                                "# two\nlab:00112233445566778899aabbccddeeff\n"
                                "other:ffeeddccbbaa99887766554433221100\n");
  const auto own = folder.file("own", "other:ffeeddccbbaa99887766554433221100\n");
  auto pair = pair_served_by(served_by(only_shared_key(keys)));
  const auto known = connect(pair, asked_by(only_shared_key(own)));
  CHECK(known.client.starts_with("other (TLS_AES_128_GCM_SHA256"));
  check_all_operations(pair);
  end_and_reset(pair);
}

TEST_CASE("a program's second connection resumes the TLS session and reports the same peer") {
  const Credentials credentials;
  auto pair = pair_served_by(served_by(credentials.serving()));
  const auto asking = asked_by(credentials.asking());
  CHECK_EQ(connect(pair, asking).server, "127.0.0.1 (TLS_AES_128_GCM_SHA256)");
  // The client receives the session ticket when it reads data, because the ticket precedes that
  // data in the stream.
  check_all_operations(pair);
  end_and_reset(pair);
  const auto again = connect(pair, asking);
  CHECK_EQ(again.server, "127.0.0.1 (TLS_AES_128_GCM_SHA256, resumed)");
  CHECK_EQ(again.client, "client (TLS_AES_128_GCM_SHA256, resumed)");
  check_all_operations(pair);
}

TEST_CASE("a rejection arrives over TLS, and neither end can take over the socket") {
  const Credentials credentials;
  auto pair = pair_served_by(served_by(credentials.serving()));
  pair.start(asked_by(credentials.asking()));
  auto request = expect(*pair.b.cm, Type::kConnectRequest);
  UniqueFd socket;
  CHECK(request.request->reject_and_keep(socket) == Errc::kInvalidArgument);
  REQUIRE_FALSE(request.request->reject(octets("no")));
  const auto rejected = expect(*pair.a.cm, Type::kRejected);
  CHECK_EQ(rejected.private_data, octets("no"));
  CHECK_FALSE(rejected.socket);
}
