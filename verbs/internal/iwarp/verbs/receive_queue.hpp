// SPDX-License-Identifier: Apache-2.0
// ReceiveQueue: the receive queue of one queue pair, and of a SharedReceiveQueue. Thread-safe; a
// thread that holds the mutex of a queue locks no other mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/bytes/mutex.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/growing_ring.hpp"
#include "iwarp/verbs/reap_count.hpp"
#include "iwarp/verbs/shared_receive_queue.hpp"
#include "iwarp/verbs/work_request.hpp"

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
  /// the completion of its receive has been polled; see Reaped.
  ReapCount& reaped() { return reaped_; }
  /// Returns the number of receives taken so far. Polling the completion of the receive that was
  /// taken last sets reaped() to this number.
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  /// Makes a slot free as soon as its receive is taken, as an SRQ requires. Call before the first
  /// post().
  void reuse_at_once() { reuse_at_once_ = true; }

 private:
  const std::size_t max_wr_;
  const std::size_t max_sge_;
  mutable bytes::Mutex mutex_;
  GrowingRing<PostedReceive> ring_;  ///< holds the receives; grows up to max_wr_
  std::uint64_t posted_ = 0;
  std::atomic<std::uint64_t> taken_{0};  ///< written only with the mutex held
  ReapCount reaped_;
  bool reuse_at_once_ = false;
};

/// The functions of a SharedReceiveQueue for queue pairs and drivers. Thread-safe.
struct SharedReceiveQueuePort {
  /// Takes the oldest receive, as ReceiveQueue::take() does.
  static bool take(SharedReceiveQueue& srq, PostedReceive& out) {
    return take_for(srq, 0, out) == ReceiveFound::kTaken;
  }
  /// Takes the oldest receive, as ReceiveQueue::take_for() does. May raise the event of
  /// arm_limit().
  static ReceiveFound take_for(SharedReceiveQueue& srq, std::size_t length, PostedReceive& out);
  /// Calls await() and then take().
  static bool take_or_await(SharedReceiveQueue& srq, const std::weak_ptr<Waiter>& driver,
                            PostedReceive& out);
  /// Registers `driver`. Its stream is resumed once, when the next receive is posted. After
  /// await(), the caller must check size() again, see Waiters. Throws std::bad_alloc.
  static void await(SharedReceiveQueue& srq, const std::weak_ptr<Waiter>& driver);
  /// Registers `driver`. Its receive_imminent() is called once, when a receive is about to be
  /// posted to the empty queue. Throws std::bad_alloc.
  static void await_imminent(SharedReceiveQueue& srq, const std::weak_ptr<Waiter>& driver);
  /// Removes the receives that no message has consumed and returns them, oldest first. The removed
  /// receives do not complete. Throws std::bad_alloc.
  static std::vector<PostedReceive> withdraw(SharedReceiveQueue& srq);
  /// Counts a queue pair as a user of the queue.
  static void attach(SharedReceiveQueue& srq);
  /// Reverses attach().
  static void detach(SharedReceiveQueue& srq);
  /// Returns the number of queue pairs that use the queue.
  static std::uint32_t attached(const SharedReceiveQueue& srq);
};

}  // namespace iwarp::verbs
