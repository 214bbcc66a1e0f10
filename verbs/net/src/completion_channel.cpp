// SPDX-License-Identifier: Apache-2.0
// CompletionChannel: a consumer that sleeps often and briefly is woken by the sockets themselves.
// When a sleep takes longer, the workers take the sockets back, so that at rest nothing runs and
// one-sided operations progress.
#include "iwarp/net/completion_channel.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <thread>
#include <vector>

#include "cq_feed.hpp"
#include "epoll_fd.hpp"

namespace iwarp::net {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// So many events, each soon after the one before, are worth waiting on the sockets.
constexpr unsigned kLongStreak = 8;
constexpr auto kSoon = Milliseconds(5);

// What poll(2) takes, rounded up; never is -1.
int until(std::optional<Clock::time_point> end) {
  if (!end) return -1;
  const auto left = std::chrono::ceil<Milliseconds>(*end - Clock::now()).count();
  return static_cast<int>(std::clamp<Milliseconds::rep>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

// The program's descriptor: an epoll set of the channel's own event descriptor and, while a
// consumer sleeps on the sockets, of the feeds' sets.
struct CompletionChannel::Sleeper final : public SleepDescriptor {
  explicit Sleeper(CompletionChannel& of) : channel(of) {
    if (!epoll.add(of.Channel::fd(), EPOLLIN, nullptr)) {
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }
  }

  bool watch(const SocketSet& set) override;
  void unwatch(const SocketSet& set) override;

  void taken();
  std::optional<verbs::CompletionQueue*> serve(bool by_descriptor);

  CompletionChannel& channel;
  EpollFd epoll;
  std::atomic<int> watched{0};      ///< sets in the descriptor
  std::atomic<unsigned> streak{0};  ///< events, each soon after the one before

  std::mutex mutex;  ///< of what follows; before the locks of a feed
  std::vector<std::shared_ptr<CqFeed>> feeds;
  Clock::time_point last_event;
  bool served = false;  ///< nothing was left then; what came since the descriptor tells
};

// Under the lock of a feed.
bool CompletionChannel::Sleeper::watch(const SocketSet& set) {
  if (!epoll.add(set.fd(), EPOLLIN, nullptr)) return false;
  ++watched;
  return true;
}

void CompletionChannel::Sleeper::unwatch(const SocketSet& set) {
  epoll.remove(set.fd());
  --watched;
  streak = 0;
}

// An event was taken.
void CompletionChannel::Sleeper::taken() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return;
  const auto now = Clock::now();
  streak = now - std::exchange(last_event, now) < kSoon ? streak + 1 : 0;
  served = true;
  if (streak == 0 || streak % kLongStreak != 0) return;
  for (const auto& feed : feeds) feed->begin_sleeping(*this);
}

// What the sockets have. `by_descriptor`: the program itself may have been woken by fd(), and may
// rely on it that there is an event then.
std::optional<verbs::CompletionQueue*> CompletionChannel::Sleeper::serve(bool by_descriptor) {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || (std::exchange(served, false) && by_descriptor)) return std::nullopt;
  bool came = false;
  channel.attend();
  for (const auto& feed : feeds) came |= feed->serve();
  auto out = channel.leave();
  if (!out && came && by_descriptor) {
    for (const auto& feed : feeds) feed->call_consumer();
    out = channel.Channel::poll();
  }
  served = out.has_value();
  return out;
}

CompletionChannel::CompletionChannel() : sleeper_(std::make_unique<Sleeper>(*this)) {}
CompletionChannel::~CompletionChannel() = default;

int CompletionChannel::fd() const { return sleeper_->epoll.get(); }

void CompletionChannel::add(std::shared_ptr<CqFeed> feed) {
  const std::lock_guard lock(sleeper_->mutex);
  sleeper_->feeds.push_back(std::move(feed));
}

void CompletionChannel::remove_feed(const CqFeed* feed) {
  const std::lock_guard lock(sleeper_->mutex);
  std::erase_if(sleeper_->feeds, [feed](const auto& other) { return other.get() == feed; });
}

std::optional<verbs::CompletionQueue*> CompletionChannel::look() {
  if (const auto out = Channel::poll()) return out;
  return sleeper_->watched != 0 ? sleeper_->serve(true) : std::nullopt;
}

std::optional<verbs::CompletionQueue*> CompletionChannel::poll() {
  const auto out = look();
  if (out) sleeper_->taken();
  return out;
}

std::optional<verbs::CompletionQueue*> CompletionChannel::wait(Milliseconds timeout) {
  std::optional<Clock::time_point> end;
  if (timeout.count() >= 0) end = Clock::now() + timeout;
  while (true) {
    const auto out = await(end);
    if (out) return *out;
    if (out.error() == std::errc::timed_out) return std::nullopt;
    if (out.error() != std::errc::interrupted) std::this_thread::sleep_for(Milliseconds(1));
  }
}

std::expected<verbs::CompletionQueue*, std::error_code> CompletionChannel::wait_interruptible() {
  return await(std::nullopt);
}

// An error: timed_out, or what poll(2) said.
std::expected<verbs::CompletionQueue*, std::error_code> CompletionChannel::await(
    std::optional<Clock::time_point> end) {
  // Who finds it at once may sleep elsewhere, on the descriptor among others, and come for what it
  // promised: such a one would not come back from here if all it had promised were octets.
  if (const auto out = look()) return *out;
  while (true) {
    pollfd waiting{.fd = fd(), .events = POLLIN, .revents = 0};
    const int n = ::poll(&waiting, 1, until(end));
    if (n < 0) return std::unexpected(std::error_code(errno, std::generic_category()));
    auto out = Channel::poll();
    if (!out && sleeper_->watched != 0) out = sleeper_->serve(false);
    if (out) {
      sleeper_->taken();
      return *out;
    }
    if (end && Clock::now() >= *end) {
      return std::unexpected(std::make_error_code(std::errc::timed_out));
    }
  }
}

}  // namespace iwarp::net
