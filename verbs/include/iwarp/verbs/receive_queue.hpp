// SPDX-License-Identifier: Apache-2.0
// ReceiveQueue: the receive queue of one queue pair. SharedReceiveQueue: a receive queue that
// several queue pairs share (SRQ; verbs draft section 6.3). Thread-safe; a thread that holds the
// mutex of a queue locks no other mutex.
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
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// The scatter/gather elements of one request.
using SgeList = bytes::BoundedList<Sge, bytes::kMaxSge>;

/// A posted receive, copied from the application's arrays.
struct PostedReceive {
  std::uint64_t wr_id = 0;
  SgeList sgl{};
};

/// Result of take_for(), which takes a receive with a minimum length.
enum class ReceiveFound : std::uint8_t {
  kNone,      ///< no receive is posted
  kTooShort,  ///< the oldest receive is too short and stays posted
  kTaken,     ///< the oldest receive was taken
};

/// A bounded queue of receives, first in, first out. Unused capacity takes no memory.
class ReceiveQueue {
 public:
  /// `max_sge` is at most bytes::kMaxSge.
  ReceiveQueue(std::size_t max_wr, std::size_t max_sge);
  ~ReceiveQueue();

  /// Appends a receive. Fails with `Errc::kTooManySge` (more than `max_sge` elements),
  /// `Errc::kMessageTooLong` (2^32 bytes or more), `Errc::kQueueFull` (no free slot, see reaped())
  /// or `std::errc::not_enough_memory`. On failure, nothing is posted.
  std::error_code post(const RecvWr& wr);
  /// Moves the oldest receive to `out`. Returns false, and leaves `out` unchanged, if no receive is
  /// posted.
  bool take(PostedReceive& out) { return take_for(0, out) == ReceiveFound::kTaken; }
  /// Moves the oldest receive to `out` if its elements hold at least `length` bytes.
  ReceiveFound take_for(std::size_t length, PostedReceive& out);
  /// Removes the receives that have not been taken and returns them, oldest first. Frees their
  /// slots. Throws std::bad_alloc.
  std::vector<PostedReceive> withdraw();
  /// Returns the number of receives that are posted and not taken.
  std::size_t size() const;
  /// Copies to `out` the oldest receive that has not been taken and whose sequence number is at
  /// least `sequence`; the first receive ever posted has number 0. Returns the number of the copied
  /// receive, or nullopt if there is none.
  std::optional<std::uint64_t> next_posted(std::uint64_t sequence, PostedReceive& out) const;
  /// Return the limits that were passed to the constructor.
  std::size_t max_wr() const { return max_wr_; }
  std::size_t max_sge() const { return max_sge_; }
  /// Returns the counter of receives whose completions have been polled. A slot is free again after
  /// the completion of its receive has been polled; see CompletionQueue::Reaped.
  ReapCount& reaped() { return reaped_; }
  /// Returns the number of receives taken so far. Polling the completion of the receive that was
  /// taken last sets reaped() to this number.
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  /// Makes a slot free as soon as its receive is taken, as an SRQ requires. Call before the first
  /// post().
  void reuse_at_once() { reuse_at_once_ = true; }

 private:
  struct Ring;

  const std::size_t max_wr_;
  const std::size_t max_sge_;
  mutable bytes::Mutex mutex_;
  std::unique_ptr<Ring> ring_;  ///< holds the receives; grows up to max_wr_
  std::uint64_t posted_ = 0;
  std::atomic<std::uint64_t> taken_{0};  ///< written only with the mutex held
  ReapCount reaped_;
  bool reuse_at_once_ = false;
};

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
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  /// Posts a receive for the next message of any queue pair that uses this queue. Fails with
  /// `Errc::kQueueFull` (max_wr receives are posted), `Errc::kTooManySge`, `Errc::kMessageTooLong`
  /// (2^32 bytes or more) or `std::errc::not_enough_memory`. On failure, nothing is posted.
  std::error_code post_recv(const RecvWr& wr);
  /// Removes the receives that no message has consumed and returns them, oldest first. The removed
  /// receives do not complete. Throws std::bad_alloc.
  std::vector<PostedReceive> withdraw() { return queue_.withdraw(); }
  /// Arms one AsyncEventType::kSrqLimit event, which is raised when a receive is consumed and fewer
  /// than `limit` receives remain. A `limit` of 0 disarms the event. Fails with
  /// `Errc::kInvalidArgument` if `limit` is above max_wr.
  std::error_code arm_limit(std::size_t limit);
  /// Returns the armed limit. Returns 0 if no limit is armed or its event has been raised.
  std::size_t armed_limit() const { return armed_limit_.load(); }

  /// Return the protection domain and the limits that were passed to the constructor.
  PdId pd() const { return pd_; }
  const Limits& limits() const { return limits_; }
  /// Returns the number of receives that are posted and not consumed.
  std::size_t size() const { return queue_.size(); }

  // For queue pairs -----------------------------------------------------------------------------
  /// Takes the oldest receive, as ReceiveQueue::take() does.
  bool take(PostedReceive& out) { return take_for(0, out) == ReceiveFound::kTaken; }
  /// Takes the oldest receive, as ReceiveQueue::take_for() does. May raise the event of
  /// arm_limit().
  ReceiveFound take_for(std::size_t length, PostedReceive& out);
  /// Calls await() and then take().
  bool take_or_await(const std::weak_ptr<QpDriver>& driver, PostedReceive& out);
  /// Registers `driver`. Its stream is resumed once, when the next receive is posted. After
  /// await(), the caller must check size() again, see Waiters. Throws std::bad_alloc.
  void await(const std::weak_ptr<QpDriver>& driver) { waiters_.add(driver); }
  /// Registers `driver`. Its receive_imminent() is called once, when a receive is about to be
  /// posted to the empty queue. Throws std::bad_alloc.
  void await_imminent(const std::weak_ptr<QpDriver>& driver) { imminent_.add(driver); }
  /// Counts a queue pair as a user of this queue.
  void attach() { attached_.fetch_add(1); }
  /// Reverses attach().
  void detach() { attached_.fetch_sub(1); }
  /// Returns the number of queue pairs that use the queue.
  std::uint32_t attached() const { return attached_.load(); }

 private:
  const PdId pd_;
  const Limits limits_;
  ReceiveQueue queue_;
  std::atomic<std::size_t> armed_limit_{0};
  std::function<void(SharedReceiveQueue&)> limit_reached_;
  std::atomic<std::uint32_t> attached_{0};
  Waiters waiters_;   ///< drivers registered by await()
  Waiters imminent_;  ///< drivers registered by await_imminent()
};

}  // namespace iwarp::verbs
