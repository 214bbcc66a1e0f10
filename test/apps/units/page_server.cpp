// SPDX-License-Identifier: Apache-2.0
// Tests the server of iwarp lab with more connections than it keeps at the same time.
#include "lab/page_server.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <thread>

namespace iwarp::apps::lab {
namespace {

class Browser {
 public:
  explicit Browser(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    REQUIRE(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  ~Browser() { close(fd_); }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void send(std::string_view text) const {
    REQUIRE(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  /// Receives until the server closes the connection. Returns everything that was received.
  std::string receive() const {
    std::string out;
    for (;;) {
      constexpr int kLimit = 60'000;  // timeout in ms that expires only if the server is broken
      pollfd waiting{fd_, POLLIN, 0};
      REQUIRE(poll(&waiting, 1, kLimit) == 1);
      std::array<char, 1024> piece{};
      const auto n = recv(fd_, piece.data(), piece.size(), 0);
      if (n <= 0) return out;
      out.append(piece.data(), static_cast<std::size_t>(n));
    }
  }

 private:
  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

struct Serving {
  ~Serving() {
    eventfd_write(stop, 1);
    thread.join();
    close(stop);
  }
  int stop = eventfd(0, EFD_CLOEXEC);
  // The timeout is so long that it does not expire in any connection.
  PageServer server{0, "the page", std::chrono::hours(1)};
  std::thread thread{[this] { server.run(stop); }};
};

constexpr std::string_view kRequest = "GET / HTTP/1.1\r\n\r\n";

TEST_CASE("new connections replace silent ones, the oldest first") {
  Serving serving;
  std::deque<Browser> silent;
  for (std::size_t i = 0; i != PageServer::kMaxClients + 8; ++i) {
    silent.emplace_back(serving.server.port());
    silent.back().send("GET ");  // The request is incomplete.
  }
  const Browser other(serving.server.port());
  other.send(kRequest);
  CHECK(other.receive().ends_with("\r\n\r\nthe page"));
  CHECK(silent.front().receive().empty());
  silent.back().send(kRequest.substr(4));
  CHECK(silent.back().receive().ends_with("\r\n\r\nthe page"));
}

TEST_CASE("a request that names another host than this machine is refused (DNS rebinding)") {
  Serving serving;
  const auto ask = [&](const std::string& host) {
    const Browser browser(serving.server.port());
    browser.send("GET / HTTP/1.1\r\n" + host + "\r\n\r\n");
    return browser.receive();
  };
  for (const auto* host : {"Accept: */*", "Host: localhost", "host:127.0.0.1:7174",
                           "HOST: \tLocalHost:80 ", "Host: [::1]:9000"}) {
    CAPTURE(host);
    CHECK(ask(host).ends_with("\r\n\r\nthe page"));
  }
  for (const auto* host : {"Host: evil.example", "Host: localhost.evil", "Host: 192.0.2.1:80",
                           "Host:", "Host: :80", "Host: localhost\r\nHost: evil.example"}) {
    CAPTURE(host);
    const auto answer = ask(host);
    CHECK(answer.starts_with("HTTP/1.1 421 "));
    CHECK(answer.ends_with("\r\n\r\nthe lab answers only for 127.0.0.1, localhost or [::1]\n"));
  }
}

}  // namespace
}  // namespace iwarp::apps::lab
