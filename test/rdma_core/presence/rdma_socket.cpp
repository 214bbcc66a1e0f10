// SPDX-License-Identifier: Apache-2.0
// Tests the sockets of NETLINK_RDMA as programs use them: addresses, blocking, small buffers, and
// descriptors that are closed and used again.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr unsigned kDevices = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);

/// A socket of NETLINK_RDMA.
class RdmaSocket {
 public:
  explicit RdmaSocket(int flags = 0) : fd_(::socket(AF_NETLINK, SOCK_RAW | flags, NETLINK_RDMA)) {
    REQUIRE(fd_ >= 0);
  }
  ~RdmaSocket() { ::close(fd_); }
  RdmaSocket(const RdmaSocket&) = delete;
  RdmaSocket& operator=(const RdmaSocket&) = delete;
  int fd() const { return fd_; }

  sockaddr_nl own_address() const {
    sockaddr_nl out{};
    socklen_t size = sizeof out;
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&out), &size) == 0);
    return out;
  }

  struct Received {
    ssize_t size;
    int error;
    sockaddr_nl from;
    nlmsghdr first;  ///< the header of the first message
    int value;       ///< the first four octets of its payload
  };
  Received receive(int flags = 0) const {
    std::array<char, 8192> octets{};
    Received out{.size = 0, .error = 0, .from = {}, .first = {}, .value = 0};
    out.from.nl_pid = 1;
    iovec piece{octets.data(), octets.size()};
    msghdr message{
        .msg_name = &out.from, .msg_namelen = sizeof out.from, .msg_iov = &piece, .msg_iovlen = 1};
    out.size = ::recvmsg(fd_, &message, flags);
    out.error = errno;
    std::memcpy(&out.first, octets.data(), sizeof out.first);
    std::memcpy(&out.value, octets.data() + sizeof out.first, sizeof out.value);
    return out;
  }

 private:
  const int fd_;
};

nlmsghdr request(unsigned flags, unsigned type = kDevices) {
  return {sizeof(nlmsghdr), static_cast<std::uint16_t>(type), static_cast<std::uint16_t>(flags), 7,
          0};
}

/// A session with `count` devices on the loopback interface.
class ManyDevices {
 public:
  explicit ManyDevices(int count) {
    std::ofstream out(path_);
    for (int i = 0; i < count; ++i) out << "many" << i << " rxe lo\n";
    out.close();
    std::filesystem::permissions(
        path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    ::setenv("IWARP_SESSION", path_.c_str(), 1);
  }
  ~ManyDevices() {
    ::unsetenv("IWARP_SESSION");
    std::filesystem::remove(path_);
  }
  ManyDevices(const ManyDevices&) = delete;
  ManyDevices& operator=(const ManyDevices&) = delete;

 private:
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("many-devices-" + std::to_string(::getpid()));
};

}  // namespace

TEST_CASE("an RDMA socket answers as the kernel does") {
  const RdmaSocket socket;
  sockaddr_nl own{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  REQUIRE(::bind(socket.fd(), reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
  const nlmsghdr asks = request(NLM_F_REQUEST | NLM_F_DUMP);
  const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  CHECK(::sendto(socket.fd(), &asks, sizeof asks, 0, reinterpret_cast<const sockaddr*>(&kernel),
                 sizeof kernel) == sizeof asks);
  pollfd waits{socket.fd(), POLLIN, 0};
  CHECK(::poll(&waits, 1, 0) == 1);
  const auto device = socket.receive();
  CHECK(device.first.nlmsg_type == kDevices);
  CHECK(device.first.nlmsg_seq == asks.nlmsg_seq);
  CHECK(device.first.nlmsg_pid == socket.own_address().nl_pid);
  CHECK(device.from.nl_pid == 0);
  CHECK(socket.receive().first.nlmsg_type == NLMSG_DONE);
  CHECK(socket.receive(MSG_DONTWAIT).error == EAGAIN);
}

TEST_CASE("every function that sends and receives works on an RDMA socket without bind()") {
  const RdmaSocket socket(SOCK_NONBLOCK | SOCK_CLOEXEC);
  CHECK(socket.receive().error == EAGAIN);
  const nlmsghdr bad = request(NLM_F_REQUEST, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, 1000));
  REQUIRE(::send(socket.fd(), &bad, sizeof bad, 0) == sizeof bad);
  CHECK(socket.own_address().nl_pid != 0);
  sockaddr_nl from{};
  socklen_t size = sizeof from;
  std::array<char, 256> octets{};
  CHECK(::recvfrom(socket.fd(), octets.data(), octets.size(), MSG_PEEK,
                   reinterpret_cast<sockaddr*>(&from), &size) == 36);
  CHECK(from.nl_family == AF_NETLINK);
  CHECK(from.nl_pid == 0);
  CHECK(::recv(socket.fd(), octets.data(), octets.size(), 0) == 36);
  nlmsghdr half = bad;
  std::array<iovec, 2> pieces{iovec{&half, 8}, iovec{reinterpret_cast<char*>(&half) + 8, 8}};
  const msghdr message{.msg_iov = pieces.data(), .msg_iovlen = pieces.size()};
  CHECK(::sendmsg(socket.fd(), &message, 0) == sizeof half);
  const auto answer = socket.receive();
  CHECK(answer.first.nlmsg_type == NLMSG_ERROR);
  CHECK(answer.value == -EINVAL);
  const std::string large(1 << 20, '\0');
  CHECK(::send(socket.fd(), large.data(), large.size(), 0) == -1);
  CHECK(errno == EMSGSIZE);
}

TEST_CASE("a list that exceeds the receive buffer arrives whole") {
  constexpr int kDevices = 32;
  const ManyDevices many(kDevices);
  const RdmaSocket socket(SOCK_NONBLOCK);
  const int smallest = 1;  // the kernel rounds this up
  REQUIRE(::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest) == 0);
  const nlmsghdr asks = request(NLM_F_REQUEST | NLM_F_DUMP);
  for (int round = 0; round < 3; ++round) {
    REQUIRE(::send(socket.fd(), &asks, sizeof asks, 0) == sizeof asks);
    int datagrams = 1;
    ssize_t size = 0;
    for (auto got = socket.receive(); got.first.nlmsg_type != NLMSG_DONE; got = socket.receive()) {
      REQUIRE(got.size > 0);
      size += got.size;
      ++datagrams;
    }
    CHECK(datagrams > 1);
    CHECK(size > kDevices * 100);
  }
  CHECK(socket.receive().error == EAGAIN);
}

TEST_CASE("the number of an RDMA socket can be used again") {
  int number = -1;
  {
    const RdmaSocket socket;
    number = socket.fd();
  }
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0);
  CHECK((pair[0] == number || pair[1] == number));
  for (const int fd : pair) {
    const int other = fd == pair[0] ? pair[1] : pair[0];
    char octet = 'x';
    CHECK(::send(fd, &octet, 1, 0) == 1);
    octet = 'y';
    CHECK(::recv(other, &octet, 1, 0) == 1);
    CHECK(octet == 'x');
  }
  for (const int fd : pair) ::close(fd);
}

TEST_CASE("RDMA sockets are answered in the child of a fork, and many can be open") {
  const RdmaSocket socket;
  const nlmsghdr asks = request(NLM_F_REQUEST | NLM_F_ACK, NLMSG_MIN_TYPE);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::send(socket.fd(), &asks, sizeof asks, 0) == sizeof asks ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(socket.receive().first.nlmsg_type == NLMSG_ERROR);
  for (int round = 0; round < 200; ++round) {
    const RdmaSocket one;
    const RdmaSocket two;
    REQUIRE(::send(two.fd(), &asks, sizeof asks, 0) == sizeof asks);
    REQUIRE(two.receive().first.nlmsg_type == NLMSG_ERROR);
  }
}

TEST_CASE("other netlink sockets still reach the kernel") {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  REQUIRE(fd >= 0);
  const nlmsghdr asks = request(NLM_F_REQUEST | NLM_F_ACK, NLMSG_NOOP);
  CHECK(::send(fd, &asks, sizeof asks, 0) == sizeof asks);
  std::array<char, 256> octets{};
  CHECK(::recv(fd, octets.data(), octets.size(), 0) == 36);
  ::close(fd);
}
