// SPDX-License-Identifier: Apache-2.0
// Queues that have no receives for a while: their posted receives are withdrawn from the core,
// receives posted meanwhile are held, and all of them are posted in order when the time is over.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::rdma_core {
struct Qp;
struct RcQp;
struct Srq;
}  // namespace iwarp::rdma_core

namespace iwarp::rdma_core::fault {

class HeldReceives {
 public:
  using Time = std::chrono::nanoseconds;

  /// Withdraws the receives of the queue pair, or of its shared receive queue, until that time.
  void hold(RcQp& qp, Time until);
  /// Holds a request to a queue without receives. Returns 0 or an errno, or nullopt if the queue is
  /// not held.
  std::optional<int> keep(const void* queue, const ibv_recv_wr& wr);
  /// The queue is being destroyed: after this returns, nothing more is posted to it.
  void forget(const void* queue);
  /// Posts the receives whose time is over. Returns when the next are due.
  std::optional<Time> release(Time now);

 private:
  struct Held {
    const void* queue;  ///< a Qp or an Srq
    RcQp* qp;           ///< null: a shared receive queue
    Srq* srq;
    Time until;
    std::vector<verbs::PostedReceive> receives;
  };
  Held* find(const void* queue);
  static void post_again(const Held& held);

  std::mutex mutex_;
  std::vector<Held> held_;
};

}  // namespace iwarp::rdma_core::fault
