// SPDX-License-Identifier: Apache-2.0
// Tests peers that stay silent, send garbage, disconnect, or connect in large numbers.
#include <sys/resource.h>

#include <array>
#include <future>

#include "iwarp/net/channel_port.hpp"
#include "iwarp/verbs/wire_tap.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"
#include "sockets/descriptors.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

mpa::StartupFrame asking_for_rtr() {
  static const auto word = [] {
    std::array<std::byte, mpa::kEnhancedWordSize> out{};
    bytes::store_be(out.data(), mpa::encode({.peer_to_peer = true, .rtr_write = true}));
    return out;
  }();
  return {.kind = mpa::FrameKind::kRequest, .enhanced = true, .revision = 2, .private_data = word};
}

class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    REQUIRE_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit low{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    REQUIRE_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("accept() fails if the requesting peer has gone, and no event is reported") {
  Pair pair;
  auto peer = RawPeer::ask(pair.listener->local().port);
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  // Octets after the Request are a protocol error. The device closes the connection after it has
  // detected the error.
  peer.send(octets("too early"));
  peer.wait_for_end();
  CHECK_EQ(event.request->accept(*pair.b.qp), make_error_code(Errc::kConnectionReset));
  CHECK_FALSE(pair.b.cm->poll().has_value());
  pair.connect();
}

TEST_CASE(
    "no more set-ups are pending than the device allows: one without a Request is evicted, others "
    "are refused, and both are counted [SCTP-4] [SEC-2]") {
  Pair pair(1 << 12, {.max_pending_connects = 2});
  auto silent = RawPeer::connect(pair.listener->local().port);
  auto first = RawPeer::ask(pair.listener->local().port);
  auto event = expect(*pair.b.cm, Type::kConnectRequest);
  auto second = RawPeer::connect(pair.listener->local().port);
  CHECK(silent.wait_for_end());
  second.send_startup({.kind = mpa::FrameKind::kRequest});
  auto undecided = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(failed_by(pair.rnic->statistics().passive, SetupFailure::kGaveWay), 1);
  // The first and the second request now wait for the program's decision. The device evicts neither
  // to admit a third connection.
  auto third = RawPeer::connect(pair.listener->local().port);
  third.wait_for_end();
  CHECK_EQ(failed_by(pair.rnic->statistics().passive, SetupFailure::kNoRoom), 1);
  // Accepting the first request makes room for a fourth connection.
  REQUIRE_FALSE(event.request->accept(*pair.b.qp));
  expect(*pair.b.cm, Type::kEstablished);
  auto fourth = RawPeer::ask(pair.listener->local().port);
  expect(*pair.b.cm, Type::kConnectRequest);
}

TEST_CASE("a peer that withholds its RTR is evicted for a new one, and reported [SCTP-4]") {
  Pair pair(1 << 12, {.max_pending_connects = 1});
  auto peer = RawPeer::ask(pair.listener->local().port, asking_for_rtr());
  pair.accept();
  auto newcomer = RawPeer::connect(pair.listener->local().port);
  CHECK(peer.wait_for_end());
  expect(*pair.b.cm, Type::kConnectFailed);
  newcomer.send_startup({.kind = mpa::FrameKind::kRequest});
  expect(*pair.b.cm, Type::kConnectRequest);
}

TEST_CASE("a recognized peer is not evicted while its RTR is due [SCTP-4]") {
  ListenOptions options;
  options.connection.startup.crc = false;
  Pair pair(1 << 12, {.max_pending_connects = 1}, {"127.0.0.1", 0}, options);
  auto peer = RawPeer::connect(pair.listener->local().port);
  auto frame = asking_for_rtr();
  frame.crc = false;
  peer.send_startup(frame);
  const auto event = expect(*pair.b.cm, Type::kConnectRequest);
  event.request->set_recognized();
  REQUIRE_FALSE(event.request->accept(*pair.b.qp));
  CHECK(RawPeer::connect(pair.listener->local().port).wait_for_end());
  peer.receive(mpa::kStartupHeaderSize + mpa::kEnhancedWordSize);
  peer.send(octets({"\0\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20}));  // a zero-length Write
  expect(*pair.b.cm, Type::kEstablished);
}

TEST_CASE("a peer whose Request has arrived is not evicted, even if it is unread [SCTP-4]") {
  std::promise<void> peers_have_asked;
  ListenOptions options;
  // The tap of the first peer's connection blocks the reading thread until the other peers have
  // sent their Requests.
  options.tap = [asked = peers_have_asked.get_future().share()](const Address&, const Address&,
                                                                bool) {
    asked.wait();
    return nullptr;
  };
  Pair pair(1 << 12, {.max_pending_connects = 1}, {"127.0.0.1", 0}, options);
  const auto silent = RawPeer::connect(pair.listener->local().port);
  auto first = RawPeer::ask(pair.listener->local().port);
  auto second = RawPeer::ask(pair.listener->local().port);
  peers_have_asked.set_value();
  const auto one = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(one.peer, first.own_address());
  const auto other = expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_EQ(other.peer, second.own_address());
}

TEST_CASE(
    "one host that opens a thousand silent connections again and again keeps no other peer out "
    "[SCTP-4] [SEC-1] [SEC-21]") {
  constexpr std::size_t kSilent = 1000;
  constexpr int kHonest = 48;
  Pair pair(1 << 12, {.max_pending_connects = kSilent / 2});
  const auto port = pair.listener->local().port;
  std::vector<RawPeer> silent;
  for (std::size_t i = 0; i < kSilent; ++i) silent.push_back(RawPeer::connect(port));
  for (int i = 0; i < kHonest; ++i) {
    // All peers are on the host of the listener, so the limits for each source and each port do not
    // apply. This is the worst case: only the limit for the whole device evicts peers.
    for (auto& peer : silent) {
      if (peer.has_ended()) peer = RawPeer::connect(port);
    }
    auto honest = RawPeer::ask(port);
    auto event = expect(*pair.b.cm, Type::kConnectRequest);
    CHECK_EQ(event.peer, honest.own_address());
    CHECK_FALSE(event.request->reject());
    honest.receive(20);
  }
}

TEST_CASE("all open descriptors count, below the newest one and this layer's own above it") {
  std::vector<UniqueFd> own;
  for (int i = 0; i < 200; ++i) own.emplace_back(::dup(0));
  const int hole = own.front().get();
  own.erase(own.begin());
  const UniqueFd newest(::dup(0));
  REQUIRE_EQ(newest.get(), hole);
  for (const auto count : {open_descriptors, known_descriptors}) {
    const auto before = count(hole);
    CHECK_GE(before, 200);
    own.pop_back();
    CHECK_EQ(count(hole), before - 1);
    own.emplace_back(::dup(0));
    CHECK_EQ(count(hole), before);
  }
  const int foreign = ::dup(0);
  CHECK_GE(open_descriptors(hole), known_descriptors(hole));
  ::close(foreign);
}

TEST_CASE("set-ups leave the program a reserve of descriptors [SCTP-4]") {
  constexpr rlim_t kDescriptors = 400;  // The device leaves a quarter of this limit to the program.
  Pair pair;
  const DescriptorLimit limit(kDescriptors);
  std::vector<RawPeer> silent;  // This process holds both ends of each of these connections.
  for (rlim_t i = 0; i < kDescriptors / 2 - 10; ++i) {
    silent.push_back(RawPeer::connect(pair.listener->local().port));
  }
  pair.connect();
}

TEST_CASE(
    "peers that send a Request and disconnect fill the backlog of a sleeping program, but no more, "
    "and the rest are counted [SEC-21]") {
  Pair pair({.backlog = 3});
  std::vector<RawPeer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(RawPeer::ask(pair.listener->local().port));
    while (ChannelPort::count(*pair.b.cm, [](const CmEvent&) { return true; }) <= std::size_t(i)) {
      std::this_thread::yield();
    }
  }
  peers.clear();
  for (int i = 0; i < 20; ++i) {
    auto late = RawPeer::ask(pair.listener->local().port);
    CHECK(late.wait_for_end());
  }
  CHECK_EQ(failed_by(pair.rnic->statistics().passive, SetupFailure::kBacklogFull), 20);
  for (int i = 0; i < 3; ++i) expect(*pair.b.cm, Type::kConnectRequest);
  CHECK_FALSE(pair.b.cm->poll().has_value());
  pair.connect();
}

TEST_CASE("a rejecting end closes when its peer closes, or after a timeout") {
  Pair pair({.connection = {.close_timeout = 20ms}});
  auto peer = RawPeer::ask(pair.listener->local().port);
  REQUIRE_FALSE(expect(*pair.b.cm, Type::kConnectRequest).request->reject(octets("no")));
  const auto reply = peer.receive(22);
  CHECK_EQ(reply[16] & std::byte{0x20}, std::byte{0x20});
  peer.wait_for_end();
}
