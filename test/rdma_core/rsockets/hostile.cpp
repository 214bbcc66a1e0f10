// SPDX-License-Identifier: Apache-2.0
// Tests peers that use rdma_cm and verbs directly and break the protocol of rsockets. Such a peer
// must end only its own connection, with a specific error.
#include <algorithm>
#include <array>
#include <thread>

#include "../interface/endpoint.hpp"
#include "rsockets/streams/wire.hpp"
#include "sockets.hpp"

namespace {

namespace wire = iwarp::rdma_core::rsockets;
using rdma_core_test::End;
using rdma_core_test::error_of;
using wire::MessageType;
using namespace rsockets_test;

std::span<const std::uint8_t> octets(const auto& of) {
  return {reinterpret_cast<const std::uint8_t*>(of.data()), of.size()};
}

/// A client whose messages the test encodes. Its ring has 1000 bytes at first.
class Peer {
 public:
  explicit Peer(std::uint16_t port)
      : channel_(rdma_core_test::make_channel()),
        end_{.id = rdma_core_test::resolved(channel_, rdma_core_test::Address("127.0.0.1", port))} {
    rdma_core_test::make_queue_pair(end_);
    ring_.emplace(end_.pd.get(), 4000, kTheirs);
    tables_.emplace(end_.pd.get(), 1000, kTheirs);
    slots_.emplace(end_.pd.get(), 400);
    for (int i = 0; i < 16; ++i) REQUIRE(end_.receive(slots_->sge(4)) == 0);
  }

  wire::Greeting greeting() const {
    return {.credits = 4,
            .mappings = 1,
            .table = {tables_->address(), tables_->mr->rkey, 2},
            .buffer = {ring_->address(), ring_->mr->rkey, 1000}};
  }

  void ask(std::span<const std::uint8_t> data) {
    rdma_conn_param param{.private_data = data.data(),
                          .private_data_len = static_cast<std::uint8_t>(data.size()),
                          .initiator_depth = 1,
                          .retry_count = 7,
                          .rnr_retry_count = 7};
    REQUIRE(rdma_connect(end_.id.get(), &param) == 0);
  }
  void connect() {
    ask(octets(wire::encode(greeting())));
    const auto event = rdma_core_test::expect(channel_, RDMA_CM_EVENT_ESTABLISHED);
    const auto& conn = event->param.conn;
    const auto peer = wire::decode_greeting(
        {static_cast<const std::byte*>(conn.private_data), conn.private_data_len});
    REQUIRE(peer);
    their_ = *peer;
  }
  bool is_rejected() {
    rdma_core_test::expect(channel_, RDMA_CM_EVENT_REJECTED);
    return true;
  }
  void is_disconnected() { rdma_core_test::expect(channel_, RDMA_CM_EVENT_DISCONNECTED); }

  void say(MessageType kind, std::uint32_t value) {
    say_octets(octets(wire::encode(wire::pack({kind, value}), std::endian::native)));
  }
  void say_octets(std::span<const std::uint8_t> message) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(message.data()),
                static_cast<std::uint32_t>(message.size()), 0};
    REQUIRE(end_.send(sge, IBV_SEND_INLINE | IBV_SEND_SIGNALED) == 0);
  }
  void write(std::uint64_t to, std::uint32_t key, std::span<const std::uint8_t> data) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(data.data()),
                static_cast<std::uint32_t>(data.size()), 0};
    ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
    wr.send_flags = IBV_SEND_INLINE;
    wr.wr.rdma = {.remote_addr = to, .rkey = key};
    REQUIRE(rdma_core_test::post_send(end_.id->qp, wr) == 0);
  }
  void wait_for_send() const { End::done(end_.send_cq); }
  /// Waits for a message from the rsocket.
  void receive() const { End::done(end_.receive_cq); }
  const wire::Greeting& their() const { return their_; }

 private:
  static constexpr int kTheirs = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  rdma_core_test::Channel channel_;
  End end_;
  std::optional<rdma_core_test::Buffer> ring_, tables_, slots_;
  wire::Greeting their_;
};

/// The rsocket of the program under test, connected to a Peer.
class Victim {
 public:
  Victim()
      : listener_(listening()), peer((port_of(listener_))), socket([this] {
          peer.connect();
          return Socket(raccept(listener_.get(), nullptr, nullptr));
        }()) {}

  /// Checks that reading the rsocket fails with error `code`, and that the peer is disconnected.
  void ends_with(int code) {
    std::array<char, 10> in{};
    ssize_t count = 1;
    while (count > 0) count = rrecv(socket.get(), in.data(), in.size(), 0);
    CHECK(error_of(count) == code);
    CHECK(rsend(socket.get(), "x", 1, 0) == -1);
    CHECK((await(socket, POLLIN) & POLLERR) != 0);
    CHECK(get_number(socket, SOL_SOCKET, SO_ERROR) == code);
    peer.is_disconnected();
    // Other connections must still work.
    const Socket other = connect_to(port_of(listener_));
    CHECK(rsend(other.get(), "x", 1, 0) == 1);
  }

 private:
  Socket listener_;

 public:
  Peer peer;
  Socket socket;
};

TEST_CASE("a peer that follows the protocol is understood") {
  Victim victim;
  victim.peer.write(victim.peer.their().buffer.address, victim.peer.their().buffer.key,
                    octets(std::string("hello")));
  victim.peer.say(MessageType::kData, 5);
  CHECK(receive_text(victim.socket) == "hello");
  CHECK(rsend(victim.socket.get(), "back", 4, 0) == 4);
  victim.peer.receive();
  victim.peer.say(MessageType::kControl, 0);
  CHECK(receive_text(victim.socket).empty());
}

TEST_CASE("a request with an invalid header is rejected") {
  const Socket listener = listening();
  Peer peer(port_of(listener));
  auto header = wire::encode(peer.greeting());
  SUBCASE("another version") { header[0] = std::byte{2}; }
  SUBCASE("no credits") { header[2] = header[3] = std::byte{0}; }
  SUBCASE("no table") { std::fill(header.begin() + 20, header.begin() + 24, std::byte{0}); }
  SUBCASE("no buffer") { std::fill(header.begin() + 36, header.end(), std::byte{0}); }
  SUBCASE("a table beyond the address space") {
    std::fill(header.begin() + 8, header.begin() + 16, std::byte{0xff});
  }
  peer.ask(octets(header));
  CHECK(peer.is_rejected());
  CHECK(await(listener, POLLIN, 0) == 0);
}

TEST_CASE("a request with half a header, or none, is rejected") {
  const Socket listener = listening();
  Peer peer(port_of(listener));
  const auto header = wire::encode(peer.greeting());
  SUBCASE("half") { peer.ask(octets(header).first(20)); }
  SUBCASE("none") { peer.ask({}); }
  CHECK(peer.is_rejected());
}

TEST_CASE("a message that breaks the protocol ends the connection") {
  Victim victim;
  Peer& peer = victim.peer;
  const std::uint32_t room = peer.their().buffer.length;
  SUBCASE("more data than was granted") { peer.say(MessageType::kData, room + 1); }
  SUBCASE("more data than a message can describe") {
    peer.say(MessageType::kData, wire::kMaxValue);
  }
  SUBCASE("no data") { peer.say(MessageType::kData, 0); }
  SUBCASE("too much data in total") {
    peer.say(MessageType::kData, room - 1);
    peer.say(MessageType::kData, 2);
  }
  SUBCASE("a mapping that does not fit into the table") { peer.say(MessageType::kMapping, 0); }
  SUBCASE("more credits than the peer's receives") { peer.say(MessageType::kCredits, 5); }
  SUBCASE("fewer credits than before") { peer.say(MessageType::kCredits, 3); }
  SUBCASE("fewer credits, after a wrap-around") { peer.say(MessageType::kCredits, 0xffff); }
  SUBCASE("an unknown kind") { peer.say(static_cast<MessageType>(1), 7); }
  SUBCASE("another unknown kind") { peer.say(static_cast<MessageType>(5), 0); }
  SUBCASE("a control message") { peer.say(MessageType::kControl, 3); }
  SUBCASE("half a message") { peer.say_octets(octets(std::string("ab"))); }
  SUBCASE("no octets") { peer.say_octets({}); }
  victim.ends_with(EPROTO);
}

TEST_CASE("more messages than credits end the connection") {
  Victim victim;
  const unsigned credits = victim.peer.their().credits;
  for (unsigned i = 0; i <= credits; ++i) {
    victim.peer.say(MessageType::kData, 1);
    victim.peer.wait_for_send();
  }
  // POLLERR is reported before the program reads anything.
  CHECK((await(victim.socket, 0) & POLLERR) != 0);
  victim.ends_with(EPROTO);
}

TEST_CASE("a target that is longer than a message can describe ends the connection") {
  Victim victim;
  const auto& table = victim.peer.their().table;
  const wire::Target target{0, 0, wire::kMaxValue + 1};
  victim.peer.write(table.address + wire::kTargetSize, table.key,
                    octets(wire::encode(target, std::endian::native)));
  victim.peer.say(MessageType::kCredits, 4);
  victim.ends_with(EPROTO);
}

TEST_CASE("a message that is too long, or a Write beside the ring, ends the connection") {
  Victim victim;
  SUBCASE("a message") { victim.peer.say_octets(octets(std::string("abcde"))); }
  SUBCASE("beside the ring") {
    const auto& buffer = victim.peer.their().buffer;
    victim.peer.write(buffer.address + std::uint64_t{buffer.length} * 2, buffer.key,
                      octets(std::string("x")));
  }
  SUBCASE("beside the tables") {
    const auto& table = victim.peer.their().table;
    victim.peer.write(table.address + wire::kTargetSize * 2, table.key, octets(std::string("x")));
  }
  SUBCASE("with another key") {
    const auto& buffer = victim.peer.their().buffer;
    victim.peer.write(buffer.address, buffer.key + 1, octets(std::string("x")));
  }
  std::array<char, 1> in{};
  CHECK(rrecv(victim.socket.get(), in.data(), 1, 0) == -1);
  CHECK((errno == ECONNRESET || errno == EPROTO));
  victim.peer.is_disconnected();
}

TEST_CASE("a peer that advertises memory that it does not have harms only itself") {
  Victim victim;
  const auto& table = victim.peer.their().table;
  const wire::Target nowhere{0x1000, 0x1234, 4096};
  victim.peer.write(table.address + wire::kTargetSize, table.key,
                    octets(wire::encode(nowhere, std::endian::native)));
  victim.peer.say(MessageType::kCredits, 4);
  const std::vector<char> sent(2000);
  ssize_t count = 0;
  while (count >= 0) count = rsend(victim.socket.get(), sent.data(), sent.size(), 0);
  CHECK((errno == ECONNRESET || errno == EIO));
}

TEST_CASE("a client does not connect to a server whose reply is invalid") {
  const auto channel = rdma_core_test::make_channel();
  const auto listener = rdma_core_test::listening(channel);
  const Socket client = make_socket();
  const auto to = loopback(port_of(listener));
  int code = -1;
  {
    std::jthread connecting([&] { code = error_of(try_connect(client, to)); });
    End end;
    end.id.reset(rdma_core_test::expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
    rdma_core_test::make_queue_pair(end);
    rdma_conn_param param{.private_data = "nonsense", .private_data_len = 8};
    REQUIRE(rdma_accept(end.id.get(), &param) == 0);
    rdma_core_test::expect(channel, RDMA_CM_EVENT_ESTABLISHED);
    rdma_core_test::expect(channel, RDMA_CM_EVENT_DISCONNECTED);
  }
  CHECK(code == EPROTO);
  CHECK(get_number(client, SOL_SOCKET, SO_ERROR) == 0);
}

}  // namespace
