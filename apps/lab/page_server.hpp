// SPDX-License-Identifier: Apache-2.0
// Serves one page by HTTP to browsers of this machine. What a client sends is bounded in octets and
// in time, and nothing of it is used but whether it asks for the page.
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

  /// Listens at 127.0.0.1; port 0: some free one. `page` outlives this. A connection is closed
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
    std::string_view head;  ///< what is left to send
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
  std::string found_;  ///< the head in front of the page
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
};

}  // namespace iwarp::apps::lab
