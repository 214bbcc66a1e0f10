// SPDX-License-Identifier: Apache-2.0
// CompletionChannel::Impl: the events of a completion channel, and the descriptors that a program
// sleeps on until there is one.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include "channels/cq_feed.hpp"
#include "iwarp/net/channel.hpp"
#include "iwarp/net/completion_channel.hpp"
#include "sockets/epoll_fd.hpp"

namespace iwarp::net {

// How a consumer that sleeps on the sockets sleeps, and what it finds when it wakes.
//
// A program that sleeps in the channel's blocking calls sleeps on `inside`, which it does not have.
// A program that sleeps in poll(2) or an epoll of its own sleeps on `outside`, which is readable
// because of octets that may complete nothing, and that other threads may take first. When a call
// for an event follows, there has to be one, for a queue that may turn out to be empty.
struct CompletionChannel::Impl {
  struct Events final : Channel<verbs::CompletionQueue*> {
    using Channel::attend;
    using Channel::leave;
  };

  class Descriptor final : public SleepDescriptor {
   public:
    explicit Descriptor(std::atomic<bool>* owed) : owed_(owed) {}
    int fd() const { return epoll_.get(); }
    bool is_watching() const { return watched_.load() != 0; }
    bool add(int fd) const { return epoll_.add(fd, EPOLLIN, nullptr); }

    // Under the lock of a feed.
    std::atomic<bool>* owed() override { return owed_; }
    bool watch(const SocketSet& set) override {
      if (!add(set.fd())) return false;
      ++watched_;
      return true;
    }
    void unwatch(const SocketSet& set) override {
      epoll_.remove(set.fd());
      // The program may have been told of what the workers take now.
      if (owed_ != nullptr) owed_->store(true);
      --watched_;
    }

   private:
    EpollFd epoll_;
    std::atomic<bool>* const owed_;
    std::atomic<int> watched_{0};  ///< sets in it
  };

  /// Throws std::system_error if the kernel has no descriptor left.
  Impl() {
    if (!outside.add(events.fd())) {
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }
  }

  // For the Rnic: what feeds the queues of this channel.
  void add(std::shared_ptr<CqFeed> feed);
  void remove(const CqFeed* feed);

  std::optional<verbs::CompletionQueue*> look();
  std::optional<verbs::CompletionQueue*> serve(bool is_promised);
  std::optional<verbs::CompletionQueue*> keep_promise();
  void found();
  void waited();
  bool is_soon();
  void begin(SleepDescriptor& on);
  int waits_on() const;

  Events events;
  std::atomic<bool> owed{false};  ///< `outside` was or may have been readable: an event is promised
  Descriptor outside{&owed};      ///< the program's, with the descriptor of `events`

  std::mutex mutex;  ///< of what follows; before the locks of a feed
  std::vector<std::shared_ptr<CqFeed>> feeds;
  std::unique_ptr<Descriptor> made_inside;
  std::atomic<Descriptor*> inside{nullptr};  ///< from its first use on; holds `outside`, too
  std::chrono::steady_clock::time_point last_event;
  unsigned found_streak = 0;   ///< events that were there, each soon after the one before
  unsigned waited_streak = 0;  ///< the same that a blocking call slept for
};

}  // namespace iwarp::net
