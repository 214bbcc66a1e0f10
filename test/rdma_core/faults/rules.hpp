// SPDX-License-Identifier: Apache-2.0
// Adds fault rules to this process, as `iwarp fault` does.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "support.hpp"

namespace faults {

inline std::string socket_path() {
  return (std::filesystem::temp_directory_path() / ("iwarp-fault-" + std::to_string(getpid())))
      .string();
}

/// A connection to the fault socket; the destructor closes it.
class Socket {
 public:
  Socket() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::string path = socket_path();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Sends `text`. Returns the first line of the answer, or an empty string if the other end closes
  /// the socket.
  std::string say(const std::string& text) const {
    REQUIRE_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL), text.size());
    std::string line;
    for (char octet = 0; ::recv(fd_, &octet, 1, 0) == 1; line += octet) {
      if (octet == '\n') return line;
    }
    return "";
  }

 private:
  int fd_;
};

/// Adds a fault rule. The device must be open. When this returns, a rule that counts events is
/// active, and a rule with `now` has acted.
inline void rule(const std::string& text) { REQUIRE_EQ(Socket().say(text + "\n"), "ok"); }

/// Checks that `end`, whose peer has gone, sees this when it posts a request: the request fails,
/// and then the receive that was posted before is flushed.
inline void check_that_peer_is_gone(data::End& end, const data::End& peer) {
  REQUIRE_EQ(end.post_rdma(IBV_WR_RDMA_WRITE, peer, 0, 8, 0), 0);
  CHECK_EQ(data::next(end.cq).status, IBV_WC_RETRY_EXC_ERR);
  CHECK_EQ(data::next(end.cq).status, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace faults
