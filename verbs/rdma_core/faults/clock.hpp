// SPDX-License-Identifier: Apache-2.0
// Clock: the thread of an Injector. It carries out timed rules and accepts rules over a socket at
// the path IWARP_FAULT_SOCKET. Each line that a client sends is a rule as in a file, or `list`, and
// is answered with "ok" or "error: ...". Only the same user may connect: the mode of the socket and
// the credentials that the kernel reports for the peer ensure that. The socket has at most four
// connections at a time, and a line at most 512 octets.
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core::fault {

class Injector;

class Clock {
 public:
  /// `socket` is the path at which the user can send rules; if it is empty, there is no socket.
  Clock(Injector& injector, std::string socket) : injector_(injector), socket_(std::move(socket)) {}
  /// Throws std::system_error if no thread can be started or no descriptor opened. If the socket
  /// cannot be created, logs the reason and goes on without it.
  void start();
  /// Wakes the thread up. Call when a timed rule has become due, or the time of the next one has
  /// changed.
  void wake();

 private:
  struct Client {
    net::UniqueFd socket;
    std::string read;  ///< the beginning of an incomplete line
  };
  void run();
  std::vector<pollfd> descriptors(bool accepts) const;
  void open_socket();
  void accept();
  /// Reads and answers lines of a client. Returns false if its connection is over.
  bool serve(Client& client);
  std::string answer(std::string_view line);

  Injector& injector_;
  const std::string socket_;  ///< path of the socket
  net::UniqueFd wake_;
  net::UniqueFd listener_;
  std::vector<Client> clients_;
  std::chrono::nanoseconds accepts_from_{0};  ///< when to accept again after a lack of descriptors
};

}  // namespace iwarp::rdma_core::fault
