// SPDX-License-Identifier: Apache-2.0
// SharedReceiveQueue: a receive queue that several queue pairs share (SRQ; verbs draft section
// 6.3).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <system_error>

#include "iwarp/verbs/work_request.hpp"

namespace iwarp::verbs {

/// Shared receive queue. The protection domain of the SRQ, and not that of the queue pair, applies
/// to the buffers of its receives. [VRB-19]
class SharedReceiveQueue {
 public:
  /// Limits of the queue.
  struct Limits {
    std::size_t max_wr = 1024;  ///< maximum number of receives posted and not consumed
    std::size_t max_sge = 4;    ///< maximum number of elements of a receive's `sgl`, at most 16
    /// Maximum number of receives that one queue pair has consumed and whose completions have not
    /// been polled; 0 means no limit. [SEC-22] [DDP-105] [RDMAP-127]
    std::size_t per_qp = 0;
  };
  /// Called by the Rnic; applications call Rnic::create_srq(). The thread that takes a receive
  /// calls `limit_reached` (may be empty) once per arm_limit(), without locks held.
  SharedReceiveQueue(PdId pd, const Limits& limits,
                     std::function<void(SharedReceiveQueue&)> limit_reached);
  ~SharedReceiveQueue();
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  /// Posts a receive for the next message of any queue pair that uses this queue. Fails with
  /// `Errc::kQueueFull` (max_wr receives are posted), `Errc::kTooManySge`, `Errc::kMessageTooLong`
  /// (2^32 bytes or more) or `std::errc::not_enough_memory`. On failure, nothing is posted.
  std::error_code post_recv(const RecvWr& wr);
  /// Arms one AsyncEventType::kSrqLimit event, which is raised when a receive is consumed and fewer
  /// than `limit` receives remain. A `limit` of 0 disarms the event. Fails with
  /// `Errc::kInvalidArgument` if `limit` is above max_wr.
  std::error_code arm_limit(std::size_t limit);
  /// Returns the armed limit. Returns 0 if no limit is armed or its event has been raised.
  std::size_t armed_limit() const;

  /// Return the protection domain and the limits that were passed to the constructor.
  PdId pd() const { return pd_; }
  const Limits& limits() const { return limits_; }
  /// Returns the number of receives that are posted and not consumed.
  std::size_t size() const;

 private:
  struct Impl;
  friend struct SharedReceiveQueuePort;

  const PdId pd_;
  const Limits limits_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::verbs
