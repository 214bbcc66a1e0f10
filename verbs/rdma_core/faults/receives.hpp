// SPDX-License-Identifier: Apache-2.0
// Queues that have no receives for a while: what was posted is taken back from the core, what is
// posted meanwhile is kept, and all of it is posted when the time is over, in order.
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

  /// From now on the queue pair, or its shared receive queue, has none.
  void hold(RcQp& qp, Time until);
  /// A request to a queue, if that is held; nullopt: it is not. Else 0 or an errno.
  std::optional<int> keep(const void* queue, const ibv_recv_wr& wr);
  /// The queue is being destroyed: returns when nobody posts to it any more.
  void forget(const void* queue);
  /// Gives back what is due; when the next is.
  std::optional<Time> release(Time now);

 private:
  struct Held {
    const void* queue;  ///< a Qp or an Srq
    RcQp* qp;           ///< null: it is shared
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
