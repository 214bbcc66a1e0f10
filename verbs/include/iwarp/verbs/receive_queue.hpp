// SPDX-License-Identifier: Apache-2.0
// Receive queues: of one queue pair, or shared by several (SRQ; verbs draft section 6.3).
// Posting and taking are thread safe; the mutex is a leaf.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/bytes/mutex.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/reap_count.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::verbs {

using SgeList = bytes::BoundedList<Sge, bytes::kMaxSge>;

/// A posted receive, copied out of the consumer's arrays.
struct PostedReceive {
  std::uint64_t wr_id = 0;
  SgeList sgl;
};

/// What came of asking for a receive of at least some length.
enum class ReceiveFound : std::uint8_t {
  kNone,
  kTooShort,  ///< the oldest one; it stays posted
  kTaken,
};

/// A bounded first-in-first-out of receives. What is not used takes no memory.
class ReceiveQueue {
 public:
  ReceiveQueue(std::size_t max_wr, std::size_t max_sge);
  ~ReceiveQueue();

  std::error_code post(const RecvWr& wr);
  /// The oldest into `out`. False: there is none.
  bool take(PostedReceive& out) { return take_for(0, out) == ReceiveFound::kTaken; }
  /// Takes the oldest receive into `out` if its pieces hold `length` octets.
  ReceiveFound take_for(std::size_t length, PostedReceive& out);
  /// All that are posted and not taken, as if they had never been posted.
  std::vector<PostedReceive> withdraw();
  std::size_t size() const;
  /// The oldest that waits and of which at least `sequence` were posted before, and how many were.
  std::optional<std::uint64_t> next_posted(std::uint64_t sequence, PostedReceive& out) const;
  std::size_t max_wr() const { return max_wr_; }
  std::size_t max_sge() const { return max_sge_; }
  /// A slot is free again only when its completion was reaped; see CompletionQueue::Reaped.
  ReapCount& reaped() { return reaped_; }
  /// Receives handed out so far: the value the completion of the last one reaps.
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  /// True for an SRQ: slots are free as soon as they are taken.
  void reuse_at_once() { reuse_at_once_ = true; }

 private:
  struct Ring;

  const std::size_t max_wr_;
  const std::size_t max_sge_;
  mutable bytes::Mutex mutex_;
  std::unique_ptr<Ring> ring_;  ///< grows up to max_wr_
  std::uint64_t posted_ = 0;
  std::atomic<std::uint64_t> taken_{0};  ///< written under the mutex
  ReapCount reaped_;
  bool reuse_at_once_ = false;
};

/// Shared receive queue. Its PD governs the buffers, not that of the queue pairs. [VRB-19]
class SharedReceiveQueue {
 public:
  struct Limits {
    std::size_t max_wr = 1024;
    std::size_t max_sge = 4;
    /// Receives one queue pair may hold unreaped at a time, 0: no cap. [SEC-22] [DDP-105]
    /// [RDMAP-127]
    std::size_t per_qp = 0;
  };
  /// `limit_reached` is called once per arm_limit(), without locks held.
  SharedReceiveQueue(PdId pd, const Limits& limits,
                     std::function<void(SharedReceiveQueue&)> limit_reached);
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  /// Errc::kQueueFull, kTooManySge, kMessageTooLong; then nothing was posted.
  std::error_code post_recv(const RecvWr& wr);
  /// All that are posted and not taken, oldest first, as if they had never been posted.
  std::vector<PostedReceive> withdraw() { return queue_.withdraw(); }
  /// One event when fewer than `limit` receives are left; 0 disarms.
  std::error_code arm_limit(std::size_t limit);
  /// 0: not armed, or the event has come.
  std::size_t armed_limit() const { return armed_limit_.load(); }

  PdId pd() const { return pd_; }
  const Limits& limits() const { return limits_; }
  std::size_t size() const { return queue_.size(); }

  // For queue pairs
  bool take(PostedReceive& out) { return take_for(0, out) == ReceiveFound::kTaken; }
  /// As ReceiveQueue::take_for().
  ReceiveFound take_for(std::size_t length, PostedReceive& out);
  /// The same; `driver` is told of the next that is posted, once.
  bool take_or_await(const std::weak_ptr<QpDriver>& driver, PostedReceive& out);
  /// `driver` is told of the next that is posted, once; it looks at size() afterwards.
  void await(const std::weak_ptr<QpDriver>& driver) { waiters_.add(driver); }
  /// Calls `driver`'s receive_imminent() when a receive is about to be posted while there is none,
  /// once.
  void await_imminent(const std::weak_ptr<QpDriver>& driver) { imminent_.add(driver); }
  void attach() { attached_.fetch_add(1); }
  void detach() { attached_.fetch_sub(1); }
  std::uint32_t attached() const { return attached_.load(); }

 private:
  const PdId pd_;
  const Limits limits_;
  ReceiveQueue queue_;
  std::atomic<std::size_t> armed_limit_{0};
  std::function<void(SharedReceiveQueue&)> limit_reached_;
  std::atomic<std::uint32_t> attached_{0};
  Waiters waiters_;   ///< for a receive
  Waiters imminent_;  ///< of await_imminent()
};

}  // namespace iwarp::verbs
