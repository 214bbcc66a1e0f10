// SPDX-License-Identifier: Apache-2.0
// Datagram queue pair (UD): every sender that knows the queue pair's number and Q_Key may send to
// it. Datagrams may be lost or reordered. A delivered datagram is complete, is delivered only once
// and was addressed to this queue pair. The queue pair has no sockets: the driver fetches the
// datagrams to send and passes received datagrams to the queue pair.
//
// Posting and the accessors are thread-safe. Only one thread at a time may call the functions for
// the driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include "iwarp/verbs/arrivals.hpp"
#include "iwarp/verbs/datagram.hpp"
#include "iwarp/verbs/datagram_fsm.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/growing_ring.hpp"
#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {

/// A datagram that is ready to be sent. Holds a copy of all octets, because the CRC covers them and
/// the application may change or deregister its memory before the kernel has read it.
struct OutgoingDatagram {
  /// Returns the UDP payload to send.
  bytes::View octets() const { return bytes::View(copy).first(size); }

  std::array<std::byte, kMaxDatagram> copy;
  std::size_t size = 0;  ///< number of octets of `copy` in use
  DatagramPath path;
  std::uint16_t port = 0;      ///< the peer's UDP port
  std::uint64_t sequence = 0;  ///< number of the request in the send queue
  std::uint64_t wr_id = 0;
  bool is_signaled = false;
};

/// A datagram queue pair without its sockets.
class DatagramQueuePair {
 public:
  /// Called by the driver; applications call Rnic::create_datagram_qp(). `stags` must outlive the
  /// queue pair.
  DatagramQueuePair(const DatagramQpInit& init, StagTable& stags);
  ~DatagramQueuePair();
  DatagramQueuePair(const DatagramQueuePair&) = delete;
  DatagramQueuePair& operator=(const DatagramQueuePair&) = delete;

  /// Posts requests in order until one is refused. Sets `posted` to the number of requests posted.
  /// Requests are flushed in kError, and while send_failed() returns true. Fails with
  /// - `Errc::kWrongState` in states other than kReady and kError,
  /// - `Errc::kTooManySge` if a request has more than max_send_sge elements,
  /// - `Errc::kInlineTooLong` if inline payload is longer than max_inline,
  /// - `Errc::kQueueFull` if the queue holds max_send_wr requests that are outstanding or whose
  ///   completions have not been polled,
  /// - `std::errc::not_enough_memory`.
  std::error_code post_send(std::span<const DatagramWr> wrs, std::size_t& posted);
  /// Posts all requests, or none if any of them is refused. Fails with the errors of post_send().
  std::error_code post_all(std::span<const DatagramWr> wrs);
  /// Posts a receive. The first kGrhSize bytes of its buffer receive the GRH. In kError the receive
  /// is flushed. Fails with `Errc::kInvalidArgument` if the queue pair uses an SRQ, with
  /// `Errc::kWrongState` in kReset, and with the errors of ReceiveQueue::post().
  std::error_code post_recv(const RecvWr& wr);
  /// Returns the parameters that were passed to the constructor.
  const DatagramQpInit& init() const { return init_; }
  /// Returns the current state.
  DatagramState state() const { return state_.load(std::memory_order_acquire); }
  /// Returns whether the queue pair receives datagrams in its present state.
  bool takes_datagrams() const {
    return state() == DatagramState::kReceiving || state() == DatagramState::kReady;
  }
  /// Returns whether a request has failed. Requests are then flushed until set_state(kReady), as in
  /// InfiniBand's state SQE.
  bool send_failed() const { return send_failed_.load(std::memory_order_relaxed); }
  /// Sets the Q_Key that datagrams to this queue pair must carry. Initially 0.
  void set_q_key(std::uint32_t q_key) { q_key_.store(q_key, std::memory_order_relaxed); }
  /// Returns the Q_Key.
  std::uint32_t q_key() const { return q_key_.load(std::memory_order_relaxed); }
  /// Returns the number of receives that are posted and not yet consumed.
  std::size_t receives() const;

  // For the driver ------------------------------------------------------------------------------
  /// Moves the queue pair to another state. kError flushes all posted requests and receives; kReset
  /// drops them without completions, and removes failed completions from the completion queues.
  /// Fails with `Errc::kWrongState` if kDatagramEdges does not list that transition.
  std::error_code set_state(DatagramState state);
  /// Accepts datagrams sent to the group address; idempotent.
  void join(const IpAddress& group);
  /// Stops accepting datagrams sent to the group address.
  void leave(const IpAddress& group);
  /// Prepares as many datagrams for the oldest posted requests as `batch` has room for, and returns
  /// the part of `batch` that holds them. A request that cannot be sent completes with an error
  /// after the requests before it have been sent. Report each datagram with sent(), in order, or
  /// return it with give_back().
  std::span<OutgoingDatagram> prepare(std::span<OutgoingDatagram> batch);
  /// Completes the request of a prepared datagram that the kernel has accepted (`taken`) or finally
  /// refused. The request succeeds in both cases, because UDP does not guarantee delivery.
  void sent(const OutgoingDatagram& datagram, bool taken);
  /// Takes back the last `count` datagrams of a batch, which were not sent. prepare() will prepare
  /// them again.
  void give_back(std::size_t count);
  /// Checks a UDP payload that arrived on `path`, and delivers it to the oldest receive, or drops
  /// it and counts the reason. If a shared receive queue has no receive, keeps up to 32 datagrams;
  /// see deliver_waiting(). Does not use `octets` after the call.
  void arrived(bytes::View octets, const DatagramPath& path);
  /// Delivers the datagrams that wait for a receive of the shared queue. Returns false if any of
  /// them still waits.
  bool deliver_waiting();
  /// Delivers waiting datagrams as long as there are receives, and drops the other waiting
  /// datagrams.
  void drop_waiting();
  /// Returns whether the application has polled the completions of all receives that were consumed.
  bool all_polled();
  /// Returns the counters, to which the driver adds system calls and datagrams that the kernel
  /// dropped.
  DatagramCounters& counters() { return counters_; }
  /// Detaches the queue pair from the completion and receive queues, which may then be destroyed,
  /// and discards this queue pair's failed completions. The destructor does the same. Idempotent.
  /// Post nothing afterwards.
  void leave_queues();

 private:
  struct Slot;

  std::error_code check(const DatagramWr& wr) const;
  std::error_code make_room(std::size_t count);
  void enqueue(const DatagramWr& wr);
  WcStatus fill(const Slot& slot, OutgoingDatagram& out);
  void complete_send(const OutgoingDatagram& datagram, WcStatus status, std::uint32_t length);
  std::optional<DatagramDrop> judge(const Datagram& datagram, bytes::View octets,
                                    const DatagramPath& path);
  /// Places the datagram in the oldest receive. If access to the memory of that receive is refused,
  /// the receive completes with an error.
  std::optional<DatagramDrop> deliver(const Datagram& datagram, const DatagramPath& path);
  void count(DatagramDrop drop) { ++counters_.dropped[static_cast<std::size_t>(drop)]; }
  WcStatus place(const PostedReceive& receive, const Datagram& datagram, const DatagramPath& path);
  void complete_receive(const WorkCompletion& wc);
  void flush_receives(bool announced);
  /// Returns the number of the oldest request in `ring_`.
  std::uint64_t oldest() const { return posted_ - ring_.size(); }
  bool step(DatagramCause cause);
  void overflowed();

  const DatagramQpInit init_;
  bool has_left_ = false;
  StagTable& stags_;
  std::atomic<DatagramState> state_{DatagramState::kReset};
  std::atomic<bool> send_failed_{false};
  std::atomic<std::uint32_t> q_key_{0};
  mutable std::mutex mutex_;  ///< guards the send queue; locked before a completion queue's mutex
  GrowingRing<Slot> ring_;    ///< the send queue; grows up to max_send_wr
  std::uint64_t posted_ = 0;
  std::uint64_t prepared_ = 0;
  std::atomic<std::uint64_t> left_{0};  ///< number of requests that have been sent or have failed
  ReapCount reaped_;
  ReceiveQueue receives_;
  std::uint64_t shared_taken_ = 0;  ///< number of receives taken from the shared queue
  std::uint32_t msn_ = 0;
  std::vector<IpAddress> groups_;
  Arrivals arrivals_;
  struct Waiting {
    std::vector<std::byte> octets;
    DatagramPath path;
  };
  static constexpr std::size_t kMostWaiting = 32;
  std::deque<Waiting> waiting_;
  DatagramCounters counters_;
};

}  // namespace iwarp::verbs
