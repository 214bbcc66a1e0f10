// SPDX-License-Identifier: Apache-2.0
// PageServer: serves one page by HTTP to browsers on this machine. It limits the size of a request
// and the duration of a connection. It checks in a request only whether the
// request asks for the page, by a name of this machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::apps::lab {

class PageServer {
 public:
  static constexpr auto kTimeout = std::chrono::seconds(30);

  /// Listens at 127.0.0.1. If `port` is 0, the system selects a free port. `page` must outlive this
  /// object. Each connection is closed after `timeout`. Throws Error if the server cannot listen.
  PageServer(std::uint16_t port, std::string_view page, std::chrono::seconds timeout = kTimeout);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// Serves clients until the file descriptor `stop` becomes readable.
  void run(int stop);

  /// Maximum number of connections. Before a further connection is accepted, evict() closes one.
  static constexpr std::size_t kMaxClients = 32;
  static constexpr std::size_t kMaxRequest = 8192;

 private:
  struct Client {
    int fd;
    std::chrono::steady_clock::time_point until;
    std::string request;
    /// The parts of the response's head and body that have not been sent yet.
    std::string_view head;
    std::string_view body;
    bool answered = false;
  };

  void take();
  void evict();
  bool advance(Client& client) const;
  void answer(Client& client) const;
  static bool send(int fd, std::string_view& rest);

  std::string_view page_;
  std::chrono::seconds timeout_;
  std::string found_;  ///< head of the response to a request that asks for the page
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
};

}  // namespace iwarp::apps::lab
