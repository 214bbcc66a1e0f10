// SPDX-License-Identifier: Apache-2.0
// Queue pair of datagrams (UD): whoever knows its number and its Q_Key may send to it, and nothing
// is promised but that what is delivered is whole, once, and meant for it. No sockets: the driver
// asks for what is to leave and hands over what came.
//
// Posting is everybody's; what is marked as the driver's, one thread's at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {

struct DatagramQpInit {
  QpNum num = 0;
  PdId pd = 0;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  QpLimits limits;
  bool signal_all = false;
  std::uint32_t instance = 0;  ///< unpredictable
  /// Longer ones fail with WcStatus::kLocalLength.
  std::size_t max_payload = kMaxDatagramPayload;
  /// How long the driver keeps what comes while no receive is posted but completions of receives
  /// are yet to be polled: a busy system may have kept the application from both.
  std::chrono::nanoseconds lateness = std::chrono::milliseconds(100);
};

class DatagramQueuePair {
 public:
  DatagramQueuePair(const DatagramQpInit& init, StagTable& stags);
  ~DatagramQueuePair();
  DatagramQueuePair(const DatagramQueuePair&) = delete;
  DatagramQueuePair& operator=(const DatagramQueuePair&) = delete;

  /// In order until one is refused; `posted` says how many were not.
  std::error_code post_send(std::span<const DatagramWr> wrs, std::size_t& posted);
  /// All or none.
  std::error_code post_all(std::span<const DatagramWr> wrs);
  std::error_code post_recv(const RecvWr& wr);
  const DatagramQpInit& init() const { return init_; }
  DatagramState state() const { return state_.load(std::memory_order_acquire); }
  bool takes_datagrams() const {
    return state() == DatagramState::kReceiving || state() == DatagramState::kReady;
  }
  /// A request has failed: what is posted is flushed until set_state(kReady).
  bool send_failed() const { return send_failed_.load(std::memory_order_relaxed); }
  void set_q_key(std::uint32_t q_key) { q_key_.store(q_key, std::memory_order_relaxed); }
  std::uint32_t q_key() const { return q_key_.load(std::memory_order_relaxed); }
  /// So many datagrams can be taken now.
  std::size_t receives() const;

  // The driver's.
  /// Errc::kWrongState: not from the present one, see kDatagramEdges.
  std::error_code set_state(DatagramState state);
  void join(const IpAddress& group);
  void leave(const IpAddress& group);
  /// The oldest that are posted; those that cannot be sent complete.
  std::span<OutgoingDatagram> prepare(std::span<OutgoingDatagram> batch);
  /// Of a batch, from its beginning. False: the system did not take it.
  void sent(OutgoingDatagram& datagram, bool taken);
  /// The end of the last batch: it will be prepared again.
  void give_back(std::span<OutgoingDatagram> unsent);
  void arrived(bytes::View octets, const DatagramPath& path);
  /// Those for which others took the receives of a shared queue have them now. False: some still
  /// wait for one.
  bool deliver_waiting();
  /// Drops those that still wait for a receive of a shared queue.
  void drop_waiting();
  /// Returns whether the application has polled the completions of all receives that were taken.
  bool all_polled();
  DatagramCounters& counters() { return counters_; }
  /// For good, as the destructor does: the queues may end before it.
  void leave_queues();

 private:
  struct Slot;

  std::error_code check(const DatagramWr& wr) const;
  std::error_code make_room(std::size_t count);
  void enqueue(const DatagramWr& wr);
  WcStatus fill(Slot& slot, OutgoingDatagram& out);
  void complete_send(const OutgoingDatagram& datagram, WcStatus status, std::uint32_t length);
  std::optional<DatagramDrop> judge(const Datagram& datagram, bytes::View octets,
                                    const DatagramPath& path);
  /// Into the next receive. An error in its memory is its completion's, not the datagram's.
  std::optional<DatagramDrop> deliver(const Datagram& datagram, const DatagramPath& path);
  void count(DatagramDrop drop) { ++counters_.dropped[static_cast<std::size_t>(drop)]; }
  WcStatus place(const PostedReceive& receive, const Datagram& datagram, const DatagramPath& path);
  void complete_receive(const WorkCompletion& wc);
  void flush_receives(bool announced);
  bool step(DatagramCause cause);
  void overflowed();

  const DatagramQpInit init_;
  bool has_left_ = false;
  StagTable& stags_;
  std::atomic<DatagramState> state_{DatagramState::kReset};
  std::atomic<bool> send_failed_{false};
  std::atomic<std::uint32_t> q_key_{0};
  mutable std::mutex mutex_;  ///< of the send queue; before that of a completion queue
  std::vector<Slot> ring_;    ///< grows up to max_send_wr; its size is a power of two
  std::uint64_t posted_ = 0;
  std::uint64_t prepared_ = 0;
  std::atomic<std::uint64_t> left_{0};  ///< so many slots were used and are free again
  ReapCount reaped_;
  ReceiveQueue receives_;
  std::uint64_t shared_taken_ = 0;  ///< as receives_.taken(), of the shared queue
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
