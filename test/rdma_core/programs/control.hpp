// SPDX-License-Identifier: Apache-2.0
// The TCP connection of two ends, over which they exchange what their queue pairs need.
#pragma once

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/verbs_end.hpp"

/// Connects to a port of `host`, or accepts one connection at the port if `host` is null. Returns
/// the socket.
inline int connect_by_tcp(const char* host, const char* port) {
  using rdma_core_test::check;
  addrinfo hints{.ai_flags = host == nullptr ? AI_PASSIVE : 0,
                 .ai_family = host == nullptr ? AF_INET : AF_UNSPEC,
                 .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  check(getaddrinfo(host, port, &hints, &found) == 0, "getaddrinfo");
  int fd = socket(found->ai_family, SOCK_STREAM, 0);
  if (host == nullptr) {
    const int listener = fd;
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    check(bind(listener, found->ai_addr, found->ai_addrlen) == 0 && listen(listener, 1) == 0,
          "listen");
    fd = accept(listener, nullptr, nullptr);
    close(listener);
  } else {
    check(connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connect");
  }
  freeaddrinfo(found);
  return fd;
}

class Control {
 public:
  Control(const char* host, const char* port) : fd_(connect_by_tcp(host, port)) {}
  ~Control() { close(fd_); }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  template <typename T>
  void send(const T& value) const {
    rdma_core_test::check(::send(fd_, &value, sizeof value, MSG_NOSIGNAL) == sizeof value, "send");
  }
  template <typename T>
  T receive() const {
    T out{};
    rdma_core_test::check(recv(fd_, &out, sizeof out, MSG_WAITALL) == sizeof out, "recv");
    return out;
  }
  bool has_message() const { return rdma_core_test::is_readable(fd_); }

 private:
  const int fd_;
};
