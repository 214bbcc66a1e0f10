// SPDX-License-Identifier: Apache-2.0
// ClientSlot: records the progress of a client, and disconnects the client if it is idle while
// another client waits for a slot. The client's thread and the accepting thread share the object.
#pragma once

#include <chrono>
#include <mutex>

#include "iwarp/net/rnic.hpp"

namespace iwarp::apps {

class ClientSlot {
 public:
  using Clock = std::chrono::steady_clock;

  /// Lets give_way() abort `qp`. The client's thread must hold a Use for as long as its queue pair
  /// exists.
  class Use {
   public:
    Use(ClientSlot& slot, verbs::QueuePair& qp);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ClientSlot& slot_;
  };

  /// Records that the client made progress: it sent or received something for which the server was
  /// waiting.
  void progressed();
  /// Returns the time of the client's last progress. Returns max() if the client must not be
  /// evicted, because it has no queue pair or has not been idle for long enough.
  Clock::time_point idle_since(Clock::time_point now) const;
  /// Evicts the client by aborting its connection. The client's thread then sees the end of the
  /// stream.
  void give_way();

 private:
  mutable std::mutex mutex_;
  verbs::QueuePair* qp_ = nullptr;
  bool has_spoken_ = false;
  Clock::time_point last_;
};

}  // namespace iwarp::apps
