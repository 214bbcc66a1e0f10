// SPDX-License-Identifier: Apache-2.0
// PageServer: serves one page by HTTP to browsers of this machine. Bounds the size and the time of
// a client's request, and only checks whether it asks for the page.
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

  /// Listens at 127.0.0.1; port 0: any free port. `page` must outlive this. Closes each connection
  /// after `timeout`. Throws Error.
  PageServer(std::uint16_t port, std::string_view page, std::chrono::seconds timeout = kTimeout);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// Returns when `stop` becomes readable.
  void run(int stop);

  static constexpr std::size_t kMaxClients = 32;  ///< at a time; see evict()
  static constexpr std::size_t kMaxRequest = 8192;

 private:
  struct Client {
    int fd;
    std::chrono::steady_clock::time_point until;
    std::string request;
    std::string_view head;  ///< still to be sent, as is `body`
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
  std::string found_;  ///< the response head for the page
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
};

}  // namespace iwarp::apps::lab
