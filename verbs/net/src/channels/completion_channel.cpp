// SPDX-License-Identifier: Apache-2.0
// CompletionChannel: if an application sleeps often and briefly, the sockets of its connections
// wake it directly. When it sleeps longer, the workers take the sockets back. Then no timer runs
// while the connections are idle, and the peer's RDMA Reads and Writes progress while the
// application sleeps.
#include "iwarp/net/completion_channel.hpp"

#include <poll.h>

#include <cerrno>
#include <thread>

#include "channels/completion_channel_impl.hpp"
#include "iwarp/net/channel_port.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"

namespace iwarp::net {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// After this number of events in quick succession, the sockets wake the application directly.
constexpr unsigned kLongStreak = 8;
constexpr auto kSoon = Milliseconds(5);

}  // namespace

// Returns the next event, or nullopt, for an application that may have slept on `outside`.
std::optional<verbs::CompletionQueue*> CompletionChannel::Impl::look() {
  // Read and clear `owed` before polling. If another thread sets it after that, the next call
  // returns the event that `owed` promises.
  bool is_promised = owed.load() && owed.exchange(false);
  if (const auto out = events.poll()) return out;
  if (!outside.is_watching()) {
    is_promised |= owed.exchange(false);
    if (!is_promised) return std::nullopt;
  }
  const std::lock_guard lock(mutex);
  auto out = serve(is_promised);
  return out ? out : keep_promise();
}

// Drives the ready sockets and returns the next event. Call with the mutex held.
std::optional<verbs::CompletionQueue*> CompletionChannel::Impl::serve(bool is_promised) {
  bool came = false;
  ChannelPort::attend(events);
  for (const auto& feed : feeds) came |= feed->serve();
  const auto out = ChannelPort::leave(events);
  if (out) {
    owed.store(false);
  } else if (is_promised || (came && outside.is_watching())) {
    owed.store(true);
  }
  return out;
}

// Returns an event if `owed` is true, because `outside` may have woken the application. Call with
// the mutex held.
std::optional<verbs::CompletionQueue*> CompletionChannel::Impl::keep_promise() {
  if (!owed.exchange(false)) return std::nullopt;
  for (const auto& feed : feeds) {
    if (!verbs::CompletionQueuePort::is_armed(feed->queue())) continue;
    ChannelPort::attend(events);
    verbs::CompletionQueuePort::call_consumer(feed->queue());
    if (const auto out = ChannelPort::leave(events)) return out;
  }
  // No queue is armed. But the application may have seen that `outside` was readable; if so, it
  // expects an event. So return an event of a queue that is not armed. end_sleeping() prevents
  // further such events.
  for (const auto& feed : feeds) feed->end_sleeping();
  owed.store(false);
  return feeds.empty() ? std::nullopt : std::optional(&feeds.front()->queue());
}

bool CompletionChannel::Impl::is_soon() {
  const auto now = Clock::now();
  return now - std::exchange(last_event, now) < kSoon;
}

// Called when poll() has returned an event. The application may have slept on `outside` for this
// event.
void CompletionChannel::Impl::found() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return;
  const bool soon = is_soon();
  if (!soon) waited_streak = 0;
  found_streak = soon ? found_streak + 1 : 0;
  if (found_streak != 0 && found_streak % kLongStreak == 0) begin(outside);
}

// Called when a blocking call has slept until there was an event.
void CompletionChannel::Impl::waited() {
  owed.store(false);
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return;
  found_streak = 0;
  waited_streak = is_soon() ? waited_streak + 1 : 0;
  if (waited_streak == 0 || waited_streak % kLongStreak != 0) return;
  if (inside.load() == nullptr) {
    try {
      auto made = std::make_unique<Descriptor>(nullptr);
      if (!made->add(outside.fd())) return;
      made_inside = std::move(made);
    } catch (const std::exception&) {  // no descriptor or memory is available
      return;
    }
    inside.store(made_inside.get());
  }
  begin(*made_inside);
}

void CompletionChannel::Impl::begin(SleepDescriptor& on) {
  for (const auto& feed : feeds) feed->begin_sleeping(on);
}

int CompletionChannel::Impl::waits_on() const {
  const Descriptor* const made = inside.load();
  return made != nullptr ? made->fd() : outside.fd();
}

void CompletionChannel::Impl::add(std::shared_ptr<CqFeed> feed) {
  const std::lock_guard lock(mutex);
  feeds.push_back(std::move(feed));
}

void CompletionChannel::Impl::remove(const CqFeed* feed) {
  const std::lock_guard lock(mutex);
  std::erase_if(feeds, [feed](const auto& other) { return other.get() == feed; });
}

CompletionChannel::CompletionChannel() : impl_(std::make_unique<Impl>()) {}
CompletionChannel::~CompletionChannel() = default;

int CompletionChannel::fd() const { return impl_->outside.fd(); }

std::optional<verbs::CompletionQueue*> CompletionChannel::poll() {
  const auto out = impl_->look();
  if (out) impl_->found();
  return out;
}

std::optional<verbs::CompletionQueue*> CompletionChannel::wait(Milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  while (true) {
    const auto out = await(deadline);
    if (out) return *out;
    if (out.error() == std::errc::timed_out) return std::nullopt;
    if (out.error() != std::errc::interrupted) std::this_thread::sleep_for(Milliseconds(1));
  }
}

std::expected<verbs::CompletionQueue*, std::error_code> CompletionChannel::wait_interruptible() {
  return await(std::nullopt);
}

// Fails with timed_out, or with the error of poll(2).
std::expected<verbs::CompletionQueue*, std::error_code> CompletionChannel::await(
    Deadline deadline) {
  // The channel cannot tell an application that has slept in its own poll(2) before this call from
  // an application that sleeps only in this call. An application that sleeps only in this call
  // treats an event of an empty queue as an error. So this call never adds the sockets to
  // `outside`, because that would require events even of queues that are empty.
  if (const auto out = impl_->look()) return *out;
  while (true) {
    pollfd waiting{.fd = impl_->waits_on(), .events = POLLIN, .revents = 0};
    const int n = ::poll(&waiting, 1, milliseconds_until(deadline));
    if (n < 0) return std::unexpected(std::error_code(errno, std::generic_category()));
    auto out = impl_->events.poll();
    if (!out) {
      const std::lock_guard lock(impl_->mutex);
      out = impl_->serve(false);
    }
    if (out) {
      impl_->waited();
      return *out;
    }
    if (deadline && Clock::now() >= *deadline) {
      return std::unexpected(std::make_error_code(std::errc::timed_out));
    }
  }
}

}  // namespace iwarp::net
