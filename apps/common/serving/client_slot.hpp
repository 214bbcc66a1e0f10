// SPDX-License-Identifier: Apache-2.0
// ClientSlot: what a server knows of a client's progress, and how it ends one that makes none when
// its place is wanted. Used by the thread of the client and by the one that accepts.
#pragma once

#include <chrono>
#include <mutex>

#include "iwarp/net/rnic.hpp"

namespace iwarp::apps {

class ClientSlot {
 public:
  using Clock = std::chrono::steady_clock;

  /// By the client's thread, while its queue pair lives.
  class Use {
   public:
    Use(ClientSlot& slot, verbs::QueuePair& qp);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ClientSlot& slot_;
  };

  /// The client has said or taken something that was waited for.
  void progressed();
  /// Since when it has not. max(): it cannot give way, being about to begin or to end, or because
  /// it was busy a moment ago.
  Clock::time_point idle_since(Clock::time_point now) const;
  /// Aborts its connection; its thread sees the end of the stream.
  void give_way();

 private:
  mutable std::mutex mutex_;
  verbs::QueuePair* qp_ = nullptr;
  bool has_spoken_ = false;
  Clock::time_point last_;
};

}  // namespace iwarp::apps
