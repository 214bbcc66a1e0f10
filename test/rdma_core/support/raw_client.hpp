// SPDX-License-Identifier: Apache-2.0
// A client that implements no protocol: a TCP socket that sends whatever octets a test chooses.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "verbs_end.hpp"

namespace rdma_core_test {

class RawClient {
 public:
  /// Connects to a port of 127.0.0.1 from the address `from`.
  explicit RawClient(std::uint16_t port, const char* from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    check(fd_ >= 0, "socket");
    sockaddr_in at{.sin_family = AF_INET};
    check(inet_pton(AF_INET, from, &at.sin_addr) == 1, "an address");
    check(::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "bind");
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    check(::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "connect");
  }
  RawClient(RawClient&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
  }

  void send(std::string_view octets) const {
    check(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(octets.size()),
          "send");
  }
  /// Waits for the next `size` octets. Returns fewer if the other end closes or resets the
  /// connection first.
  std::string receive(std::size_t size) const {
    std::string out(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      check(is_readable(fd_, kTimeoutMs), "no octet comes");
      const auto count = ::recv(fd_, out.data() + got, size - got, 0);
      if (count <= 0) break;
      got += static_cast<std::size_t>(count);
    }
    out.resize(got);
    return out;
  }
  /// Waits until the other end sends an octet, closes or resets. Returns whether it was a reset.
  bool is_reset() const {
    char octet = 0;
    return ::recv(fd_, &octet, 1, 0) < 0;
  }
  /// Returns whether nothing can be read: no octet, no end and no reset of the connection.
  bool is_silent() const { return !is_readable(fd_); }
  void half_close() const { check(::shutdown(fd_, SHUT_WR) == 0, "shutdown"); }
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    check(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0, "SO_LINGER");
    check(::close(std::exchange(fd_, -1)) == 0, "close");
  }

 private:
  int fd_;
};

}  // namespace rdma_core_test
