// SPDX-License-Identifier: Apache-2.0
// The thread of an Injector: does what is due at a time, and listens to the user. At the path of
// IWARP_FAULT_SOCKET each line is a rule as in a file, or `list`, and is answered with "ok" or
// "error: ...". Only this user is listened to, by the mode of the socket and by who the kernel says
// is at the other end; four of his connections at a time, lines of 512 octets.
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/net/unique_fd.hpp"

namespace iwarp::rdma_core::fault {

class Injector;

class Clock {
 public:
  explicit Clock(Injector& injector) : injector_(injector) {}
  /// Throws std::system_error when there is no thread or no descriptor to be had. A socket that
  /// cannot be made is a line in the log.
  void start();
  /// There is something to do, now or at another time than before.
  void wake();

 private:
  struct Client {
    net::UniqueFd socket;
    std::string read;  ///< of a line that is not complete
  };
  void run();
  std::vector<pollfd> descriptors(bool accepts) const;
  void open_socket();
  void accept();
  /// False: it is over.
  bool serve(Client& client);
  std::string answer(std::string_view line);

  Injector& injector_;
  net::UniqueFd wake_;
  net::UniqueFd listener_;
  std::vector<Client> clients_;
  std::chrono::nanoseconds accepts_from_{0};  ///< not before, as there was no descriptor
};

}  // namespace iwarp::rdma_core::fault
