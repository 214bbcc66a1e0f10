// SPDX-License-Identifier: Apache-2.0
// CompletionChannel: a consumer that sleeps often and briefly waits on the sockets itself.
// When a sleep takes longer, the workers take the sockets back, so that at rest nothing runs and
// one-sided operations progress.
#include <poll.h>

#include <vector>

#include "cq_feed.hpp"
#include "driven_connection.hpp"
#include "iwarp/net/channel.hpp"

namespace iwarp::net {
namespace {

using Clock = std::chrono::steady_clock;

// So many short sleeps, one after the other, are worth waiting on the sockets.
constexpr unsigned kLongStreak = 8;
constexpr auto kShort = std::chrono::milliseconds(5);
constexpr int kLongestMs = 10;  // of one sleep; then the workers take over

}  // namespace

struct CompletionChannel::SocketWait {
  std::mutex waiting;  ///< held by the one who waits; others only sleep
  unsigned streak = 0;
  std::vector<std::shared_ptr<DrivenConnection>> connections;
  std::vector<pollfd> sockets;

  std::mutex mutex;  ///< of what follows; before the locks of a feed
  std::vector<std::shared_ptr<CqFeed>> feeds;

  bool begin();
  bool prepare(int fd);
  void drive();
  void woken();
  void give_up();
};

CompletionChannel::CompletionChannel() : socket_wait_(std::make_unique<SocketWait>()) {}
CompletionChannel::~CompletionChannel() = default;

void CompletionChannel::add(std::shared_ptr<CqFeed> feed) {
  const std::lock_guard lock(socket_wait_->mutex);
  socket_wait_->feeds.push_back(std::move(feed));
}

void CompletionChannel::remove_feed(const CqFeed* feed) {
  const std::lock_guard lock(socket_wait_->mutex);
  std::erase_if(socket_wait_->feeds, [feed](const auto& other) { return other.get() == feed; });
}

std::optional<verbs::CompletionQueue*> CompletionChannel::wait(std::chrono::milliseconds timeout) {
  if (auto out = poll()) return out;
  const std::unique_lock mine(socket_wait_->waiting, std::try_to_lock);
  if (!mine || timeout.count() == 0) return Channel::wait(timeout);
  const auto start = Clock::now();
  std::optional<verbs::CompletionQueue*> out;
  if (socket_wait_->streak >= kLongStreak) out = wait_on_sockets();
  if (!out) out = Channel::wait(timeout);
  const bool is_short = out.has_value() && Clock::now() - start < kShort;
  socket_wait_->streak = is_short ? socket_wait_->streak + 1 : 0;
  return out;
}

// nullopt: the workers are to do it.
std::optional<verbs::CompletionQueue*> CompletionChannel::wait_on_sockets() {
  while (socket_wait_->begin()) {
    const bool pending = socket_wait_->prepare(fd());
    auto& sockets = socket_wait_->sockets;
    const int ready = ::poll(sockets.data(), sockets.size(), pending ? 0 : kLongestMs);
    socket_wait_->woken();
    if (ready == 0 && !pending) break;
    attend();
    socket_wait_->drive();
    if (auto out = leave()) return out;
  }
  socket_wait_->give_up();
  return std::nullopt;
}

// False: there are too many connections, or one needs more than a look at its socket.
bool CompletionChannel::SocketWait::begin() {
  connections.clear();
  const std::lock_guard lock(mutex);
  for (const auto& feed : feeds) {
    if (!feed->attend(connections)) return false;
  }
  return !connections.empty();
}

// True: there is work already.
bool CompletionChannel::SocketWait::prepare(int fd) {
  bool pending = false;
  sockets.assign(1, {.fd = fd, .events = POLLIN, .revents = 0});
  for (const auto& connection : connections) {
    const auto watch = connection->begin_sleep();
    const auto events = static_cast<short>(watch.write ? POLLIN | POLLOUT : POLLIN);
    sockets.push_back({.fd = watch.socket, .events = events, .revents = 0});
    pending |= watch.pending;
  }
  return pending;
}

void CompletionChannel::SocketWait::drive() {
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const auto events = sockets[i + 1].revents;
    connections[i]->ready((events & ~POLLOUT) != 0, (events & POLLOUT) != 0);
  }
}

void CompletionChannel::SocketWait::woken() {
  for (const auto& connection : connections) connection->end_sleep();
  const std::lock_guard lock(mutex);
  for (const auto& feed : feeds) feed->woken();
}

void CompletionChannel::SocketWait::give_up() {
  connections.clear();
  const std::lock_guard lock(mutex);
  for (const auto& feed : feeds) feed->give_up();
}

}  // namespace iwarp::net
