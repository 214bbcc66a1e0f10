// SPDX-License-Identifier: Apache-2.0
// ClientSlot: records the progress of a client, and disconnects an idle client if another one needs
// its place. The client's thread and the accepting thread share it.
#pragma once

#include <chrono>
#include <mutex>

#include "iwarp/net/rnic.hpp"

namespace iwarp::apps {

class ClientSlot {
 public:
  using Clock = std::chrono::steady_clock;

  /// Lets give_way() abort `qp`. The client's thread holds a Use as long as its queue pair exists.
  class Use {
   public:
    Use(ClientSlot& slot, verbs::QueuePair& qp);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ClientSlot& slot_;
  };

  /// Records that the client sent or accepted something for which the server waited.
  void progressed();
  /// Returns the time since which the client has made no progress. Returns max() if the client must
  /// not be evicted, because it has no queue pair or was active a moment ago.
  Clock::time_point idle_since(Clock::time_point now) const;
  /// Evicts the client by aborting its connection. Its thread then sees the end of the stream.
  void give_way();

 private:
  mutable std::mutex mutex_;
  verbs::QueuePair* qp_ = nullptr;
  bool has_spoken_ = false;
  Clock::time_point last_;
};

}  // namespace iwarp::apps
