// SPDX-License-Identifier: Apache-2.0
// CompletionChannel::Impl: the events of a completion channel, and the descriptors on which an
// application sleeps until there is an event.
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

// An application can sleep on the sockets in two ways. A thread in a blocking call of the channel
// sleeps on `inside`, a descriptor that the application does not have. A thread in the
// application's own poll(2) or epoll sleeps on `outside`. Octets that complete no request, or that
// another thread reads first, can also make `outside` readable. The application then expects an
// event, so the next call has to return one, even if the queue turns out to be empty. `owed` is
// true while such an event has to be returned.
struct CompletionChannel::Impl {
  class Descriptor final : public SleepDescriptor {
   public:
    explicit Descriptor(std::atomic<bool>* owed) : owed_(owed) {}
    int fd() const { return epoll_.get(); }
    bool is_watching() const { return watched_.load() != 0; }
    bool add(int fd) const { return epoll_.add(fd, EPOLLIN, nullptr); }

    // A feed calls the following functions with its lock held.
    std::atomic<bool>* owed() override { return owed_; }
    bool watch(const SocketSet& set) override {
      if (!add(set.fd())) return false;
      ++watched_;
      return true;
    }
    void unwatch(const SocketSet& set) override {
      epoll_.remove(set.fd());
      // Input that the workers will now read may have made the descriptor readable. If the
      // application has seen that, it expects an event.
      if (owed_ != nullptr) owed_->store(true);
      --watched_;
    }

   private:
    EpollFd epoll_;
    std::atomic<bool>* const owed_;
    std::atomic<int> watched_{0};  ///< number of SocketSets in `epoll_`
  };

  /// Throws std::system_error if no descriptor is available.
  Impl() {
    if (!outside.add(events.fd())) {
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }
  }

  // The Rnic adds and removes the feeds of this channel's queues.
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

  Channel<verbs::CompletionQueue*> events;
  /// look() must return an event, because `outside` may have been readable
  std::atomic<bool> owed{false};
  Descriptor outside{&owed};  ///< the application's descriptor; contains the descriptor of `events`

  std::mutex mutex;  ///< guards the members below; locked before the lock of a feed
  std::vector<std::shared_ptr<CqFeed>> feeds;
  std::unique_ptr<Descriptor> made_inside;
  /// null until the first blocking call; contains `outside`
  std::atomic<Descriptor*> inside{nullptr};
  std::chrono::steady_clock::time_point last_event;
  unsigned found_streak = 0;  ///< number of events that poll() found in quick succession
  /// number of events, in quick succession, for which a blocking call slept
  unsigned waited_streak = 0;
};

}  // namespace iwarp::net
