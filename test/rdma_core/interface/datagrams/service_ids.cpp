// SPDX-License-Identifier: Apache-2.0
// Tests what any UDP socket may send to the port of a datagram id. Each request must be reported
// once, an answer must never be longer than its request, and drops must be counted. This file
// belongs to the same program as datagrams.cpp, which runs as RoCE.
#include <sys/socket.h>

#include <cstdlib>

#include "../endpoint.hpp"
#include "captured_stderr.hpp"
#include "cm/sidr/message.hpp"

namespace {

using namespace rdma_core_test;
using namespace iwarp::rdma_core;
using Octets = std::vector<std::byte>;

const int kLogs = ::setenv("IWARP_LOG", "info", 1);

Octets encoded(const SidrMessage& message) {
  const auto octets = encode(message);
  return {octets.begin(), octets.end()};
}
Octets request(std::uint32_t number) {
  return encoded({.kind = SidrMessage::Kind::kRequest, .id = number});
}
Octets reply(std::uint32_t number, std::uint32_t qp_num) {
  return encoded({.kind = SidrMessage::Kind::kReply, .id = number, .qp_num = qp_num});
}

class Stranger {
 public:
  explicit Stranger(const char* host = "127.0.0.1", std::uint16_t port = 0)
      : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    Address own(host, port);
    socklen_t size = sizeof(sockaddr_in);
    REQUIRE(::bind(fd_, own.get(), size) == 0);
    REQUIRE(::getsockname(fd_, own.get(), &size) == 0);
    port_ = ntohs(reinterpret_cast<sockaddr_in*>(own.get())->sin_port);
  }
  ~Stranger() { ::close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  std::uint16_t port() const { return port_; }
  void send(const Octets& octets, std::uint16_t to) const {
    Address peer("127.0.0.1", to);
    REQUIRE(::sendto(fd_, octets.data(), octets.size(), 0, peer.get(), sizeof(sockaddr_in)) ==
            static_cast<ssize_t>(octets.size()));
  }
  /// Returns the next datagram. Fails if none arrives in time.
  Octets receive() const {
    REQUIRE(is_readable(fd_, kTimeoutMs));
    Octets out(4096);
    const ssize_t count = ::recv(fd_, out.data(), out.size(), 0);
    REQUIRE(count >= 0);
    out.resize(static_cast<std::size_t>(count));
    return out;
  }
  bool has_more() const { return is_readable(fd_); }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

Id datagram_listener(const Channel& channel, int backlog) {
  return listening(channel, Address("127.0.0.1"), backlog, RDMA_PS_UDP);
}

/// Returns the id that the next connect request creates.
Id next_request(const Channel& channel) {
  return Id(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
}

void accept_as(const Id& id, std::uint32_t qp_num) {
  rdma_conn_param param{.qp_num = qp_num};
  REQUIRE(rdma_accept(id.get(), &param) == 0);
}

// [RCM-350, RCM-357]
TEST_CASE("a request is reported once, and its answer, which is no longer, is repeated") {
  const Channel channel = make_channel();
  const Id listener = datagram_listener(channel, 4);
  const auto port = port_of(listener);
  const Stranger stranger;
  stranger.send(request(7), port);
  const Id server = next_request(channel);
  accept_as(server, 0x812345);
  const Octets answer = stranger.receive();
  CHECK(answer.size() == kSidrSize);
  CHECK(answer.size() <= request(7).size());
  const auto message = decode_sidr(answer);
  REQUIRE(message);
  CHECK(message->kind == SidrMessage::Kind::kReply);
  CHECK(message->id == 7);
  CHECK(message->qp_num == 0x812345);
  for (int i = 0; i != 3; ++i) stranger.send(request(7), port);
  for (int i = 0; i != 3; ++i) CHECK(stranger.receive() == answer);
  CHECK_FALSE(stranger.has_more());
  CHECK_FALSE(is_readable(channel->fd));
}

// [RCM-358]
TEST_CASE("at most as many requests wait as the backlog, and dropped ones are counted") {
  const iwarp::test::CapturedStderr said;
  const Channel channel = make_channel();
  Id listener = datagram_listener(channel, 2);
  const auto port = port_of(listener);
  const Stranger stranger;
  stranger.send(request(1), port);
  const Id first = next_request(channel);
  accept_as(first, 0x812345);
  const Octets answer = stranger.receive();
  Octets damaged = request(2);
  damaged.back() ^= std::byte{1};
  stranger.send(damaged, port);
  stranger.send({damaged.begin(), damaged.begin() + 100}, port);
  stranger.send(reply(1, 1), port);
  for (const std::uint32_t number : {2U, 2U, 2U, 3U, 4U}) stranger.send(request(number), port);
  stranger.send(request(1), port);
  // When this answer arrives, the id has examined all earlier datagrams.
  CHECK(stranger.receive() == answer);
  CHECK_FALSE(stranger.has_more());
  const Id second = next_request(channel);
  const Id third = next_request(channel);
  CHECK_FALSE(is_readable(channel->fd));
  listener.reset();
  CHECK(
      said.has("an rdma_cm_id for datagrams dropped messages (malformed: 2, unexpected replies: 1, "
               "requests without a listener: 0, repeated requests that the program had not "
               "answered: 2, requests that exceeded the backlog: 1)"));
}

TEST_CASE("a reply of a wrong address, port or request is ignored, and a client answers none") {
  const iwarp::test::CapturedStderr said;
  const Channel channel = make_channel();
  const Stranger asked;
  const Stranger other_port;
  const Stranger other_address("127.0.0.2", asked.port());
  Id asker = resolved(channel, Address("127.0.0.1", asked.port()), RDMA_PS_UDP);
  REQUIRE(rdma_connect(asker.get(), nullptr) == 0);
  const auto question = decode_sidr(asked.receive());
  REQUIRE(question);
  const auto port = port_of(asker);
  other_port.send(reply(question->id, 1), port);
  other_address.send(reply(question->id, 2), port);
  asked.send(reply(question->id + 1, 3), port);
  other_port.send(request(9), port);
  asked.send(reply(question->id, 4), port);
  {
    const Event event = expect(channel, RDMA_CM_EVENT_ESTABLISHED);
    CHECK(event->param.ud.qp_num == 4);
  }
  CHECK_FALSE(other_port.has_more());
  CHECK_FALSE(other_address.has_more());
  asker.reset();
  CHECK(
      said.has("an rdma_cm_id for datagrams dropped messages (malformed: 0, unexpected replies: 3, "
               "requests without a listener: 1, repeated requests that the program had not "
               "answered: 0, requests that exceeded the backlog: 0)"));
}

TEST_CASE("1024 answers are stored, and a request whose answer was evicted is reported again") {
  constexpr std::uint32_t kKept = 1024;
  const Channel channel = make_channel();
  const Id listener = datagram_listener(channel, 4);
  const auto port = port_of(listener);
  const Stranger stranger;
  stranger.send(request(1), port);
  const Id undecided = next_request(channel);
  Octets oldest;
  for (std::uint32_t number = 2; number != kKept + 2; ++number) {
    stranger.send(request(number), port);
    accept_as(next_request(channel), 0x810000 + number);
    const Octets answer = stranger.receive();
    if (number == 2) oldest = answer;
  }
  // The id remembers kKept requests and has received one more. It has therefore evicted the first
  // request, which the program has not answered yet.
  rdma_conn_param param{.qp_num = 0x810001};
  CHECK(error_of(rdma_accept(undecided.get(), &param)) == ETIMEDOUT);
  CHECK_FALSE(stranger.has_more());
  stranger.send(request(2), port);
  CHECK(stranger.receive() == oldest);
  CHECK_FALSE(is_readable(channel->fd));
  // Request 1 now counts as new, so the program may give a different answer to it. To remember
  // request 1 again, the id evicts request 2, which is now the oldest.
  stranger.send(request(1), port);
  accept_as(next_request(channel), 0x820001);
  CHECK(decode_sidr(stranger.receive())->qp_num == 0x820001);
  stranger.send(request(2), port);
  accept_as(next_request(channel), 0x820002);
  CHECK(decode_sidr(stranger.receive())->qp_num == 0x820002);
}

// [RCM-357]
TEST_CASE("a request that is lost is sent again unchanged until it is answered") {
  const Channel channel = make_channel();
  const Stranger asked;
  const Id asker = resolved(channel, Address("127.0.0.1", asked.port()), RDMA_PS_UDP);
  REQUIRE(rdma_connect(asker.get(), nullptr) == 0);
  const Octets first = asked.receive();
  for (int again = 0; again != 3; ++again) CHECK(asked.receive() == first);
  CHECK_FALSE(is_readable(channel->fd));
  const auto question = decode_sidr(first);
  REQUIRE(question);
  asked.send(reply(question->id, 0x815555), port_of(asker));
  const Event event = expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK(event->param.ud.qp_num == 0x815555);
}

}  // namespace
