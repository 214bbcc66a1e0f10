// SPDX-License-Identifier: Apache-2.0
// PageServer: serves one page by HTTP to browsers on this machine. Limits the size of a request and
// the time of a connection, and only checks whether the request asks for the page.
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

  /// Listens at 127.0.0.1; port 0 selects any free port. `page` must outlive this object. Closes
  /// each connection after `timeout`. Throws Error if it cannot listen.
  PageServer(std::uint16_t port, std::string_view page, std::chrono::seconds timeout = kTimeout);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// Serves clients until the descriptor `stop` becomes readable.
  void run(int stop);

  /// Maximum number of connections; for a further one, evict() closes another.
  static constexpr std::size_t kMaxClients = 32;
  static constexpr std::size_t kMaxRequest = 8192;

 private:
  struct Client {
    int fd;
    std::chrono::steady_clock::time_point until;
    std::string request;
    std::string_view head;  ///< unsent part of the response head; `body` is that of the page
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
  std::string found_;  ///< the response head for a request that asks for the page
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
};

}  // namespace iwarp::apps::lab
