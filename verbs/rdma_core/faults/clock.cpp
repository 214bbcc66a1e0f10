// SPDX-License-Identifier: Apache-2.0
// Clock: the loop of the thread, which waits for timed rules and for clients of the socket, and the
// socket itself.
#include "faults/clock.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "faults/injector.hpp"
#include "iwarp/net/insist.hpp"
#include "iwarp/net/quiet_thread.hpp"
#include "iwarp/net/unix_socket.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core::fault {
namespace {

constexpr std::size_t kMaxClients = 4;
constexpr Book::Time kUntilNextAccept = std::chrono::milliseconds(100);

/// Arranges that the process unlinks the socket at exit. The child of a fork does not unlink the
/// socket, because it belongs to the parent.
void unlink_at_exit(const std::string& path) {
  static std::atomic<pid_t> owner{0};
  static std::atomic<const char*> name{nullptr};
  name.store(path.c_str());
  owner.store(::getpid());
  [[maybe_unused]] static const int kAtExit = std::atexit([] {
    if (owner.load() == ::getpid()) ::unlink(name.load());
  });
}

bool is_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

timespec to_timespec(Book::Time time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {.tv_sec = time.count() / kSecond, .tv_nsec = time.count() % kSecond};
}

}  // namespace

void Clock::start() {
  if (!socket_.empty()) open_socket();
  thread_ = net::quiet_thread([this] { run(); });
}

// Runs only if the Core could not be made, because a Core that was made is never destroyed.
Clock::~Clock() {
  if (!thread_.joinable()) return;
  ends_.store(true);
  wake_.signal();
  thread_.join();
}

void Clock::open_socket() {
  auto socket = net::listen_unix(socket_, kMaxClients);
  if (!socket) {
    return log_refusal("IWARP_FAULT_SOCKET=" + socket_ + ": " + socket.error().message());
  }
  listener_ = std::move(*socket);
  unlink_at_exit(socket_);
}

// The loop of the Clock's thread. The thread cannot report a lack of memory to a caller. So it
// repeats the work of the Injector until there is enough memory, and closes the connection of a
// client that it cannot serve.
void Clock::run() {
  while (!ends_.load()) {
    auto next = net::insist([this] { return injector_.run(); });
    const bool accepts = injector_.now() >= accepts_from_;
    if (!accepts) next = std::min(next.value_or(accepts_from_), accepts_from_);
    const auto wait =
        next ? to_timespec(std::max(*next - injector_.now(), Book::Time(0))) : timespec{};
    auto waiting = net::insist([&] { return descriptors(accepts); });
    if (::ppoll(waiting.data(), waiting.size(), next ? &wait : nullptr, nullptr) <= 0) continue;
    while (wake_.take()) {
    }
    auto entry = waiting.begin() + 2;
    std::erase_if(clients_, [&](Client& client) {
      if ((entry++)->revents == 0) return false;
      bool stays = false;
      (void)guarded([&] { stays = serve(client); });
      return !stays;
    });
    if (waiting[1].revents != 0) (void)guarded([&] { accept(); });
  }
}

std::vector<pollfd> Clock::descriptors(bool accepts) const {
  std::vector<pollfd> out{{.fd = wake_.fd(), .events = POLLIN, .revents = 0},
                          {.fd = accepts ? listener_.get() : -1, .events = POLLIN, .revents = 0}};
  for (const Client& client : clients_) {
    out.push_back({.fd = client.socket.get(), .events = POLLIN, .revents = 0});
  }
  return out;
}

void Clock::accept() {
  net::UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    // The process has no free descriptor. New clients wait in the backlog of the socket, and this
    // thread tries again after kUntilNextAccept.
    accepts_from_ = injector_.now() + kUntilNextAccept;
    return;
  }
  if (!is_user(socket.get())) {
    return log_refusal("the fault socket refused a connection from another user");
  }
  if (clients_.size() == kMaxClients) clients_.erase(clients_.begin());
  clients_.push_back({std::move(socket), {}});
}

bool Clock::serve(Client& client) {
  std::array<char, kMaxLine + 1> buffer{};
  const auto n = ::recv(client.socket.get(), buffer.data(), buffer.size(), 0);
  if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
  client.read.append(buffer.data(), static_cast<std::size_t>(n));
  for (auto end = client.read.find('\n'); end != client.read.npos; end = client.read.find('\n')) {
    const std::string out = answer(std::string_view(client.read).substr(0, end));
    // Closes the connection of a client that does not read its answers.
    if (::send(client.socket.get(), out.data(), out.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(out.size())) {
      return false;
    }
    client.read.erase(0, end + 1);
  }
  return client.read.size() <= kMaxLine;
}

std::string Clock::answer(std::string_view line) {
  if (line == "list") {
    std::string out;
    for (const std::string& rule : injector_.list()) out += rule + '\n';
    return out + "ok\n";
  }
  auto rule = parse_rule(line);
  if (!rule) return "error: " + rule.error() + '\n';
  if (!*rule) return "ok\n";
  if (const std::string why = injector_.add(std::move(**rule)); !why.empty()) {
    return "error: " + why + '\n';
  }
  // When the client reads "ok", a rule with `now` has acted.
  net::insist([this] { return injector_.run(); });
  return "ok\n";
}

}  // namespace iwarp::rdma_core::fault
