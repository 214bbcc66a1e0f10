// SPDX-License-Identifier: Apache-2.0
// Tests peers that agree on an RTR, are accepted, and then end the connection without sending the
// RTR. The server must see only events that an ordinary client can also cause, because programs
// such as rping -s -P exit on RDMA_CM_EVENT_CONNECT_ERROR.
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;
using namespace std::string_literals;

/// A TCP socket that sends any octets that the test chooses.
class Stranger {
 public:
  explicit Stranger(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    Address to("127.0.0.1", port);
    REQUIRE(::connect(fd_, to.get(), sizeof(sockaddr_in)) == 0);
  }
  ~Stranger() {
    if (fd_ >= 0) ::close(fd_);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void send(const std::string& octets) const {
    REQUIRE(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(octets.size()));
  }
  /// Sends a Request of revision 2 with CRC, with IRD and ORD of 1, and with a Write as RTR.
  void request_with_rtr() const { send("MPA ID Req Frame\x50\x02\0\x04\x80\x01\x80\x01"s); }
  /// Waits for the first octet of the Reply.
  void await_reply() const {
    char octet = 0;
    REQUIRE(is_readable(fd_, kTimeoutMs));
    REQUIRE(::recv(fd_, &octet, 1, 0) == 1);
  }
  void half_close() const { REQUIRE(::shutdown(fd_, SHUT_WR) == 0); }
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    REQUIRE(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    REQUIRE(::close(std::exchange(fd_, -1)) == 0);
  }
  /// Sends a zero-length Write as RTR, with a wrong CRC of 0.
  void broken_rtr() const { send("\0\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"s); }

 private:
  int fd_;
};

TEST_CASE(
    "a server reads ESTABLISHED before the next request, even if no RTR of the first has arrived") {
  const Channel channel = make_channel();
  std::uint16_t port = 0;
  const Id listener = listening(channel, &port);
  const Stranger first(port);
  first.request_with_rtr();
  End server;
  server.id.reset(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(server);
  rdma_conn_param param{};
  REQUIRE(rdma_accept(server.id.get(), &param) == 0);
  first.await_reply();
  const Stranger second(port);
  second.request_with_rtr();
  CHECK(expect(channel, RDMA_CM_EVENT_ESTABLISHED)->id == server.id.get());
  const Id other(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
}

enum class Ending { kClose, kReset, kBrokenRtr };

TEST_CASE(
    "a server sees a peer that disconnects before its RTR connect and disconnect, and serves the "
    "next") {
  Ending how{};
  SUBCASE("it closes") { how = Ending::kClose; }
  SUBCASE("it resets") { how = Ending::kReset; }
  SUBCASE("its RTR has a wrong CRC") { how = Ending::kBrokenRtr; }
  const Channel channel = make_channel();
  std::uint16_t port = 0;
  const Id listener = listening(channel, &port);
  Stranger stranger(port);
  stranger.request_with_rtr();
  End server;
  server.id.reset(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(server);
  const Buffer in(server.pd.get(), 8);
  REQUIRE(server.receive(in.sge()) == 0);
  rdma_conn_param param{};
  REQUIRE(rdma_accept(server.id.get(), &param) == 0);
  stranger.await_reply();
  if (how == Ending::kClose) stranger.half_close();
  if (how == Ending::kReset) stranger.reset();
  if (how == Ending::kBrokenRtr) stranger.broken_rtr();

  const Event established = expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK(established->id == server.id.get());
  CHECK(established->status == 0);
  CHECK(expect(channel, RDMA_CM_EVENT_DISCONNECTED)->id == server.id.get());
  CHECK(End::next(server.receive_cq).status == IBV_WC_WR_FLUSH_ERR);
  CHECK(rdma_disconnect(server.id.get()) == 0);

  const Channel mine = make_channel();
  End client;
  client.id = resolved(mine, Address("127.0.0.1", port));
  make_queue_pair(client);
  REQUIRE(rdma_connect(client.id.get(), &param) == 0);
  End next;
  next.id.reset(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(next);
  REQUIRE(rdma_accept(next.id.get(), &param) == 0);
  expect(mine, RDMA_CM_EVENT_ESTABLISHED);
  expect(channel, RDMA_CM_EVENT_ESTABLISHED);
}

}  // namespace
