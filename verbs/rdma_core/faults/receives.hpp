// SPDX-License-Identifier: Apache-2.0
// HeldReceives: takes away the receives of a queue for some time. It withdraws the posted receives
// from the core, and stores the receives that the program posts in the meantime. When the time is
// over, it posts all of them to the core, in the original order.
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

  /// Withdraws the receives of the queue pair, or of its shared receive queue, and stores them
  /// until the time `until`.
  void hold(RcQp& qp, Time until);
  /// If the receives of this queue are withdrawn, stores the receive `wr`, which the program posts,
  /// and returns 0 or an errno. Otherwise returns nullopt.
  std::optional<int> keep(const void* queue, const ibv_recv_wr& wr);
  /// Call before the queue is destroyed. No stored receive is posted to the queue after this
  /// function has returned.
  void forget(const void* queue);
  /// Posts the stored receives that are due. Returns the time at which the next ones are due.
  std::optional<Time> release(Time now);

 private:
  struct Held {
    const void* queue;  ///< address of the queue: a Qp or an Srq
    RcQp* qp;           ///< null if `queue` is a shared receive queue
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
