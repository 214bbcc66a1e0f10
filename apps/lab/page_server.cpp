// SPDX-License-Identifier: Apache-2.0
// Serves all clients in one thread, with poll(2) and non-blocking sockets.
#include "lab/page_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "common/base/error.hpp"
#include "common/serving/listen_error.hpp"

namespace iwarp::apps::lab {
namespace {

constexpr std::string_view kNotFound =
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
constexpr std::string_view kOtherHost =
    "HTTP/1.1 421 Misdirected Request\r\nContent-Type: text/plain\r\nContent-Length: 55\r\n"
    "Connection: close\r\n\r\nthe lab answers only for 127.0.0.1, localhost or [::1]\n";
// Interval in ms at which poll() returns, so that the server can check the timeouts of its clients.
constexpr int kLookAtClocks = 1000;

/// Returns whether each Host field of the request names this machine. The name of another site may
/// resolve to 127.0.0.1, and that site's pages could then read this page (DNS rebinding).
bool names_this_machine(std::string_view request) {
  constexpr std::string_view kField = "\r\nhost:";
  std::string text(request.substr(0, request.find("\r\n\r\n") + 2));
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  for (auto at = text.find(kField); at != std::string::npos; at = text.find(kField, at)) {
    at = text.find_first_not_of(" \t", at + kField.size());
    std::string host = text.substr(at, text.find_first_of(" \t\r", at) - at);
    const auto port = host.find_last_not_of("0123456789");
    if (port != std::string::npos && host[port] == ':') host.resize(port);
    if (host != "localhost" && host != "127.0.0.1" && host != "[::1]") return false;
  }
  return true;
}

}  // namespace

PageServer::PageServer(std::uint16_t port, std::string_view page, std::chrono::seconds timeout)
    : page_(page),
      timeout_(timeout),
      found_(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                         "Content-Length: {}\r\nCache-Control: no-store\r\n"
                         "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                         page.size())) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(listener_, any, size) != 0 || listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, any, &size) != 0) {
    const std::error_code why(errno, std::generic_category());
    close(listener_);
    throw cannot_listen({"127.0.0.1", port}, why);
  }
  port_ = ntohs(address.sin_port);
}

PageServer::~PageServer() {
  for (const auto& client : clients_) close(client.fd);
  close(listener_);
}

void PageServer::run(int stop) {
  for (;;) {
    std::vector<pollfd> fds{{stop, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& client : clients_) {
      fds.push_back({client.fd, static_cast<short>(client.answered ? POLLOUT : POLLIN), 0});
    }
    if (poll(fds.data(), fds.size(), clients_.empty() ? -1 : kLookAtClocks) < 0 && errno != EINTR) {
      throw Error("cannot wait for HTTP requests: " + errno_text());
    }
    if (fds[0].revents != 0) return;
    const auto now = std::chrono::steady_clock::now();
    std::size_t i = 2;
    std::erase_if(clients_, [&](Client& client) {
      const bool ready = fds[i++].revents != 0;
      const bool done = ready ? !advance(client) : now >= client.until;
      if (done) close(client.fd);
      return done;
    });
    if (fds[1].revents != 0) take();
  }
}

void PageServer::take() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (clients_.size() == kMaxClients) evict();
  clients_.push_back({fd, std::chrono::steady_clock::now() + timeout_, {}, {}, {}});
}

/// Closes the oldest of the connections that have not yet sent a whole request. If there is no such
/// connection, closes the oldest of all.
void PageServer::evict() {
  auto oldest = std::ranges::find(clients_, false, &Client::answered);
  if (oldest == clients_.end()) oldest = clients_.begin();
  close(oldest->fd);
  clients_.erase(oldest);
}

/// Receives the request of a client, or sends the response. Returns false if the connection must be
/// closed.
bool PageServer::advance(Client& client) const {
  if (!client.answered) {
    std::array<char, 1024> piece;
    const auto n = recv(client.fd, piece.data(), piece.size(), 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    client.request.append(piece.data(), static_cast<std::size_t>(n));
    if (n == 0 || client.request.size() > kMaxRequest) return false;
    if (!client.request.contains("\r\n\r\n")) return true;
    answer(client);
  }
  return send(client.fd, client.head) && send(client.fd, client.body) &&
         !(client.head.empty() && client.body.empty());
}

void PageServer::answer(Client& client) const {
  const std::string_view request = client.request;
  const bool only_head = request.starts_with("HEAD / ");
  const bool found = only_head || request.starts_with("GET / ");
  client.answered = true;
  client.head = found ? found_ : kNotFound;
  if (!names_this_machine(request)) {
    client.head = kOtherHost;
  } else if (found && !only_head) {
    client.body = page_;
  }
}

/// Sends as much of `rest` as the socket accepts, and removes this part from `rest`. Returns false
/// if the connection is lost.
bool PageServer::send(int fd, std::string_view& rest) {
  while (!rest.empty()) {
    const auto n = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace iwarp::apps::lab
