// SPDX-License-Identifier: Apache-2.0
// ClientSlot: tracks the progress of a client, and disconnects an idle client when its place is
// needed. Shared by the thread of the client and the thread that accepts.
#pragma once

#include <chrono>
#include <mutex>

#include "iwarp/net/rnic.hpp"

namespace iwarp::apps {

class ClientSlot {
 public:
  using Clock = std::chrono::steady_clock;

  /// Marks the queue pair as in use. The thread of the client holds it while its queue pair exists.
  class Use {
   public:
    Use(ClientSlot& slot, verbs::QueuePair& qp);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ClientSlot& slot_;
  };

  /// Records that the client sent or accepted something that the server waited for.
  void progressed();
  /// Returns since when the client has made no progress. Returns max() if the client must not be
  /// evicted: it is about to begin or to end, or was busy a moment ago.
  Clock::time_point idle_since(Clock::time_point now) const;
  /// Evicts the client: aborts its connection. Its thread sees the end of the stream.
  void give_way();

 private:
  mutable std::mutex mutex_;
  verbs::QueuePair* qp_ = nullptr;
  bool has_spoken_ = false;
  Clock::time_point last_;
};

}  // namespace iwarp::apps
