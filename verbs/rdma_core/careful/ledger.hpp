// SPDX-License-Identifier: Apache-2.0
// Ledger: records which memory of a program the device may access: which memory is registered,
// which requests are outstanding, and what their buffers contained when they were posted. From
// this, the Ledger finds usage that works with this library, but fails on hardware or in another
// run. The Ledger does not access the device, and reads only registered buffers.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "careful/freed_memory.hpp"
#include "careful/site.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core::careful {

/// A check, by its name in reports.
using Check = std::string_view;
namespace check {
inline constexpr Check kSendChanged = "send-changed";
inline constexpr Check kSendReused = "send-reused";
inline constexpr Check kReceiveWritten = "receive-written";
inline constexpr Check kReceiveUsed = "receive-used";
inline constexpr Check kReadUnfenced = "read-unfenced";
inline constexpr Check kReadSinkRights = "read-sink-rights";
inline constexpr Check kUsedAfterDeregistration = "used-after-deregistration";
inline constexpr Check kDeregisteredInUse = "deregistered-in-use";
inline constexpr Check kUnmapped = "unmapped";
inline constexpr Check kFreedWhileRegistered = "freed-while-registered";
inline constexpr Check kCqOverflow = "cq-overflow";
inline constexpr Check kNeverSignalled = "never-signalled";
inline constexpr Check kStatusIgnored = "status-ignored";
inline constexpr Check kArmedNotPolled = "armed-not-polled";
inline constexpr Check kQueueNotEmptied = "queue-not-emptied";
inline constexpr Check kEventsNotAcknowledged = "events-not-acknowledged";
inline constexpr Check kPostedTooEarly = "posted-too-early";
inline constexpr Check kReceiveTooLate = "receive-too-late";
inline constexpr Check kAtomicMisaligned = "atomic-misaligned";
inline constexpr Check kIovaMisaligned = "iova-misaligned";
inline constexpr Check kPrivateDataTooLong = "private-data-too-long";
inline constexpr Check kDestroyedInUse = "destroyed-in-use";
}  // namespace check

struct Finding {
  Check check;
  Site site;  ///< the call during which the problem was found
  /// The earlier call that posted the request or registered the memory; null if there is none.
  Site begun = nullptr;
  std::string what;  ///< the text of the report
};

/// A piece of a buffer. `address` is the address in the request. Requests address a region as if
/// its first byte had the address RegionFacts::iova.
struct Piece {
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t key;
};

enum class BufferUse : std::uint8_t { kSource, kSink, kAtomic, kOther };

struct SendRequest {
  std::uint64_t wr_id = 0;
  BufferUse kind = BufferUse::kOther;
  bool is_signaled = false;
  bool is_inline = false;
  bool is_fenced = false;
  std::uint64_t remote = 0;  ///< the remote address, if `kind` is kAtomic
  std::vector<Piece> pieces;
};

struct QpFacts {
  const void* send_cq = nullptr;
  const void* recv_cq = nullptr;
  const void* srq = nullptr;
  const void* pd = nullptr;
  std::size_t max_send = 0;
};

struct Completed {
  std::uint32_t qp;
  std::uint64_t wr_id;
  bool is_receive;
  bool is_success;
  std::uint32_t length;  ///< for a receive: the length of the message
};

struct RegionFacts {
  const void* pd;
  std::span<const std::byte> memory;
  std::uint64_t iova;
  bool remote_write;   ///< whether the region has IBV_ACCESS_REMOTE_WRITE
  bool is_zero_based;  ///< whether the region has IBV_ACCESS_ZERO_BASED
};

class Ledger {
 public:
  using Report = std::function<void(const Finding&)>;
  /// A function that returns whether requests of the queue pair `qp` can still be executed.
  using IsReady = std::function<bool(std::uint32_t qp)>;
  /// A function that returns how many completions of a queue have not been polled yet.
  using Waiting = std::function<std::size_t(const void* cq)>;
  /// `is_rnic` is true if the program sees an iWARP adapter, and false if it sees a RoCE adapter.
  Ledger(Report report, IsReady is_ready, Waiting waiting, bool is_rnic);

  void registered(std::uint32_t key, const RegionFacts& facts, Site site);
  void deregistered(std::uint32_t key, Site site);
  /// Call when the program has freed the memory of a region that is still registered. Reports this
  /// if a peer or a request can still access the region. Later changes of the contents of the
  /// region are not reported.
  void freed(std::uint32_t key, Freed how, Site site);

  void made_cq(const void* cq, const void* channel, std::size_t capacity);
  /// Call after a poll that returned `got` of at most `wanted` completions.
  void polls(const void* cq, std::size_t got, std::size_t wanted);
  /// Call when the program arms a queue. `has_event` says whether its channel has an event, which
  /// the program can take without waiting for a completion.
  void arms(const void* cq, bool has_event);
  /// Call when a thread is about to take an event of the channel. `blocks` is false if the thread
  /// does not wait for an event.
  void sleeps(const void* channel, bool blocks, Site site);
  /// Call when a thread is about to wait until one of several descriptors is readable. Calls
  /// `is_awaited` with a channel, and expects whether the channel's descriptor is one of them.
  void waits(const std::function<bool(const void* channel)>& is_awaited, Site site);
  /// Returns whether a queue may have completions that were there when it was armed.
  bool has_left() const;
  void took_event(const void* cq);
  void destroyed_cq(const void* cq, std::uint32_t unacknowledged, Site site);

  void made_qp(std::uint32_t qp, const QpFacts& facts);
  /// Call when the queue pair goes to the error state or is reset. After that, none of its requests
  /// is outstanding.
  void stopped_qp(std::uint32_t qp);
  /// Call when the program has handled the failure of a request. Other requests may be outstanding
  /// at that time. If they also fail, the program is assumed to have handled their failures, too.
  void recovered_qp(std::uint32_t qp);
  /// Call when the program disconnects the queue pair and expects no more completions.
  void ending_qp(std::uint32_t qp);
  void destroyed_qp(std::uint32_t qp, Site site);

  /// Records requests that are about to be posted, or none if memory runs out.
  void sends(std::uint32_t qp, std::span<const SendRequest> requests, Site site);
  /// Removes the last `count` recorded requests, because they could not be posted.
  void not_sent(std::uint32_t qp, std::size_t count);
  /// Records a receive that is about to be posted. `queue` is queue_of(qp) or the shared receive
  /// queue.
  void receives(const void* queue, std::uint32_t qp, std::uint64_t wr_id,
                std::span<const Piece> pieces, Site site);
  void not_received(const void* queue, std::uint32_t qp, std::size_t count);
  void destroyed_queue(const void* queue);
  /// Returns the numbers of the queue pairs that use the shared receive queue `srq`.
  std::vector<std::uint32_t> queue_pairs_of(const void* srq) const;
  void completed(const Completed& of, Site site);
  /// Returns the key in receives_ for the receive queue of a queue pair that has no shared receive
  /// queue.
  static const void* queue_of(std::uint32_t qp) {
    // The value is odd, so that it differs from the address of every shared receive queue.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const void*>(std::uintptr_t{qp} << 1 | 1);
  }

 private:
  using View = std::span<const std::byte>;
  struct Region : RegionFacts {
    Site site;
    bool is_freed = false;
  };
  struct Buffer {
    std::uint32_t key;
    View memory;
    /// Checksums of the blocks at the time when the request was posted. Empty if the contents of
    /// the buffer are not compared.
    std::vector<std::uint32_t> sums;
    View block(std::size_t index) const;
  };
  /// An outstanding request in the send queue.
  struct Under {
    SendRequest request;
    std::vector<Buffer> buffers;
    Site site;
    /// Whether recovered_qp() was called after this request was posted. If the request fails, the
    /// program is then assumed to have already handled the failure.
    bool was_recovered = false;
  };
  struct Receive {
    std::uint64_t wr_id;
    std::vector<Buffer> buffers;
    Site site;
  };
  struct QueuePair {
    QpFacts facts;
    std::deque<Under> sends;
    bool has_failed = false;  ///< the program has polled a completion with an error
    bool is_ending = false;
  };
  struct Queue {
    const void* channel;
    std::size_t capacity;
    std::size_t owed = 0;  ///< number of completions that outstanding requests may still produce
    bool had_event = false;
    /// Whether the program armed the queue after an event, and has not polled it since then.
    bool is_armed = false;
    bool is_reported = false;  ///< whether an overflow of the queue was reported
    /// How many completions that were in the queue when it was armed have not been polled since.
    std::size_t left = 0;
    std::thread::id poller;  ///< the thread that polled the queue last since it was armed
  };

  void check_iova(const RegionFacts& facts, Site site);
  std::vector<Buffer> buffers_of(std::span<const Piece> pieces, Site site);
  void sum(Buffer& buffer, Site site);
  std::size_t first_changed(const Buffer& buffer, std::size_t from) const;
  void check_source(std::uint32_t qp, const SendRequest& request, std::span<const Buffer> buffers,
                    Site site);
  void check_sink(std::span<const Buffer> buffers, Site site, const void* queue);
  void check_sink_rights(std::span<const Buffer> buffers, Site site);
  std::size_t receives_at(View memory, const Receive** first = nullptr) const;
  void report_departed(const void* cq, Queue& queue, Site site);
  void owe(const void* cq, Site site);
  void settle(const void* cq, std::size_t count);
  void finish(const Under& under, Site site);
  void compare_rest(const Receive& receive, std::uint32_t length, Site site);
  bool is_in_use(std::uint32_t key, Site& by) const;
  /// Returns the queue pair, or null if it is not known.
  QueuePair* find(std::uint32_t num);
  /// Returns the key in receives_ for the receive queue of the queue pair.
  static const void* queue_of(std::uint32_t num, const QueuePair& qp) {
    return qp.facts.srq != nullptr ? qp.facts.srq : queue_of(num);
  }
  static bool is_signaled(const Under& under) { return under.request.is_signaled; }
  bool is_ready(std::uint32_t num, const QueuePair& qp) const {
    return !qp.has_failed && !qp.is_ending && is_ready_(num);
  }
  /// Reports a Finding, unless memory runs out.
  template <typename... Args>
  void report(Check check, Site site, Site begun, fmt::format_string<const Args&...> what,
              const Args&... args) const {
    or_no_memory(
        [&] { report_({check, site, begun, fmt::vformat(what, fmt::make_format_args(args...))}); });
  }

  const Report report_;
  const IsReady is_ready_;
  const Waiting waiting_;
  const bool is_rnic_;
  std::unordered_map<std::uint32_t, Region> regions_;
  /// The keys of deregistered regions, and the calls that deregistered them.
  std::deque<std::pair<std::uint32_t, Site>> dead_;
  std::unordered_map<const void*, Queue> queues_;
  std::unordered_map<std::uint32_t, QueuePair> qps_;
  std::unordered_map<const void*, std::deque<Receive>> receives_;
};

}  // namespace iwarp::rdma_core::careful
