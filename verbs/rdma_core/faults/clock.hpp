// SPDX-License-Identifier: Apache-2.0
// Clock: the thread of an Injector. It carries out timed rules, and accepts rules over a Unix
// socket at the path IWARP_FAULT_SOCKET. Each line that a client sends is either a rule, in the
// syntax of a plan, or `list`. The Clock answers each line with "ok" or "error: ..."; a rule with
// `now` has acted before the Clock answers "ok". Only the user who runs the program may connect.
// The mode of the socket and the credentials that the kernel reports for the client ensure that. At
// most four clients may be connected at a time, and a line has at most 512 octets.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "iwarp/net/event_fd.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core::fault {

class Injector;

class Clock {
 public:
  /// `socket` is the path of the socket to which the user can send rules. If `socket` is empty,
  /// there is no socket.
  Clock(Injector& injector, std::string socket) : injector_(injector), socket_(std::move(socket)) {}
  /// Starts the thread. Throws std::system_error if the thread cannot be started, or if no
  /// descriptor can be opened. If the socket cannot be created, logs the reason and continues
  /// without a socket.
  void start();
  /// Ends the thread, if start() has started it.
  ~Clock();
  /// Wakes up the thread. Call when a timed rule has become due, or when the time at which the next
  /// one is due has changed.
  void wake() { wake_.signal(); }

 private:
  struct Client {
    net::UniqueFd socket;
    std::string read;  ///< the beginning of a line whose end has not arrived yet
  };
  void run();
  std::vector<pollfd> descriptors(bool accepts) const;
  void open_socket();
  void accept();
  /// Reads and answers lines of a client. Returns false if the client's connection is over.
  bool serve(Client& client);
  std::string answer(std::string_view line);

  Injector& injector_;
  const std::string socket_;  ///< path of the socket
  net::EventFd wake_;
  net::UniqueFd listener_;
  std::vector<Client> clients_;
  /// The time at which to call accept() again after a lack of descriptors.
  std::chrono::nanoseconds accepts_from_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace iwarp::rdma_core::fault
