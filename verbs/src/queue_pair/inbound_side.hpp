// SPDX-License-Identifier: Apache-2.0
// InboundSide: the inbound part of the stream's half of a queue pair. It decides which memory the
// peer's Writes, Reads and Atomics may use, and which receive the peer's Sends consume (verbs draft
// section 8). Call with the connection lock held; flush() may also be called when there is no
// connection.
#pragma once

#include <boost/container/static_vector.hpp>

#include "iwarp/rdmap/ulp.hpp"
#include "queue_pair/qp_shared.hpp"

namespace iwarp::verbs {

class InboundSide {
 public:
  explicit InboundSide(QpShared& qp)
      : qp_(qp),
        rq_(qp.init.srq != nullptr ? 1 : qp.init.limits.max_recv_wr, qp.init.limits.max_recv_sge),
        to_receive_{.pd = qp.init.srq != nullptr ? qp.init.srq->pd() : qp.init.pd,
                    .qp = qp.num,
                    .remote = false,
                    .need = Access::kLocalWrite},
        to_write_(remote(qp, Access::kRemoteWrite)),
        to_read_(remote(qp, Access::kRemoteRead)),
        to_change_(remote(qp, Access::kRemoteAtomic)) {}

  ReceiveQueue& receive_queue() { return rq_; }
  /// Returns the counter of the receives that this queue pair took from its SRQ and whose
  /// completions have been polled.
  ReapCount& shared_reaped() { return shared_reaped_; }

  // rdmap::Ulp documents the following functions.
  std::expected<void, AccessError> write_target(Stag stag, rdmap::TaggedOffset to,
                                                std::uint32_t length, bytes::Span& out);
  void release_target() { target_.release(); }
  /// Returns the right to the memory of write_target(), which remains pinned.
  Grant take_target() { return std::move(target_); }
  std::expected<bytes::View, AccessError> read_source(Stag stag, rdmap::TaggedOffset to,
                                                      std::uint32_t length);
  void release_source() { source_.release(); }
  std::expected<std::uint64_t, AccessError> atomic(const rdmap::AtomicRequest& request);
  /// Returns the aligned word of an atomic of the peer, which remains pinned until
  /// release_source().
  std::expected<std::byte*, AccessError> atomic_word(const rdmap::AtomicRequest& request);
  bytes::Check receive_buffer(ddp::UntaggedBuffer& out);
  bytes::Check send_received(const rdmap::ReceivedSend& send);

  /// Begins a stream. `hold_on_empty`: a Send waits for a receive, instead of failing, if none is
  /// posted.
  void open(bool hold_on_empty) {
    hold_on_empty_ = hold_on_empty;
    drops_ = is_spared_ = false;
  }
  /// Completes the receive of a Send with Invalidate that waits until the invalidated memory is
  /// unpinned. Returns false if that memory is still pinned. Until it is unpinned, nothing more may
  /// be received.
  bool finish_invalidate() { return !invalidating_ || try_invalidate(); }
  /// Returns whether a Send has arrived only in part.
  bool is_mid_message() const { return has_receive_ && !is_spared_; }
  /// Drops the message that waits for a receive, and all others until there is one. Returns false
  /// if the queue pair is reliable: then the stream has to end.
  bool drop_held() { return drops_ = qp_.is_unreliable; }
  /// If a receive is being filled, makes it complete with `status` after the queue pair has left
  /// RTS. An application that polls this error then finds the queue pair in the state that the
  /// error implies.
  void blame_receive(WcStatus status);
  /// If the message in progress needs more memory than its receive can use, blames the receive with
  /// kLocalProtection. Call when DDP has refused the message with kDdpCatastrophic.
  void blame_missing();
  /// Completes the receive that blame_receive() has marked. Call before anything is flushed.
  void flush_blamed();
  /// Flushes the receive being filled and the posted receives, and unpins the memory that the peer
  /// uses.
  void flush();
  /// Returns whether the segment that is arriving, or the receive being filled, uses `region`.
  bool holds(const Region& region) const;
  /// Unpins the region. Returns whether the receive being filled needs the region; if so, the
  /// stream has to end.
  bool revoke(const Region& region);
  /// Fails the receive being filled if its buffers contain the octet at `address`.
  void memory_gone(const std::byte* address);
  std::uint64_t octets_placed() const { return octets_placed_; }

 private:
  /// Larger than the number of octets that a connection ever transfers.
  static constexpr std::uint64_t kDropped = std::uint64_t{1} << 63;
  static constexpr std::size_t kLongestSegment = 65535;

  static AccessRequest remote(const QpShared& qp, Access need) {
    return {.pd = qp.init.pd, .qp = qp.num, .remote = true, .need = need};
  }
  std::expected<void, AccessError> acquire(const AccessRequest& who, Stag stag,
                                           rdmap::TaggedOffset to, std::uint32_t length,
                                           Grant& out) const;
  /// Records why an access was refused, because the refusal ends the stream. Returns `why`.
  [[gnu::cold, gnu::noinline]] std::unexpected<AccessError> refused(RefusedMemory::User user,
                                                                    Stag stag,
                                                                    rdmap::TaggedOffset to,
                                                                    std::uint64_t length,
                                                                    AccessError why);
  bool take_receive();
  bool take_shared();
  bool resolve_receive(bytes::Scatter& out);
  [[gnu::cold, gnu::noinline]] void use_part(const Sge& sge, AccessError why, bytes::Scatter& out);
  bool try_invalidate();
  void flush_receive(WcStatus status);
  void complete_receive(WorkCompletion& wc);
  [[gnu::cold, gnu::noinline]] bool is_dropped(const rdmap::ReceivedSend& send);
  [[gnu::cold, gnu::noinline]] bytes::Span waste();

  QpShared& qp_;
  ReceiveQueue rq_;
  // [IBV-381]
  const AccessRequest to_receive_;
  const AccessRequest to_write_;   ///< request for an access by an RDMA Write of the peer
  const AccessRequest to_read_;    ///< request for an access by an RDMA Read of the peer
  const AccessRequest to_change_;  ///< request for an access by an Atomic of the peer
  PostedReceive receive_;          ///< the receive being filled, if has_receive_
  bool has_receive_ = false;
  std::optional<WcStatus> blame_;  ///< status with which the receive being filled has to fail
  boost::container::static_vector<Grant, bytes::kMaxSge> receive_grants_;
  /// The first memory of the receive being filled that cannot be used. Later memory is not used.
  std::optional<RefusedMemory> missing_;
  /// The completion of a received Send with Invalidate. It is pushed when no other user pins the
  /// invalidated memory any more.
  std::optional<WorkCompletion> invalidating_;
  std::uint64_t shared_taken_ = 0;
  ReapCount shared_reaped_;
  bool hold_on_empty_ = false;
  bool drops_ = false;  ///< see drop_held()
  /// Whether the receive being filled was taken for a message that was dropped. It serves the next
  /// message.
  bool is_spared_ = false;
  std::vector<std::byte> waste_;  ///< where the payload of dropped messages goes

  Grant target_;  ///< memory of the inbound Write segment in progress
  Grant source_;  ///< memory of the Read Response segment in progress
  std::uint64_t octets_placed_ = 0;
  /// The contiguous octets that the peer's Writes have placed after the last message that consumed
  /// a receive.
  struct {
    Stag stag;
    std::uint64_t end = 0;   ///< TO just after these octets
    std::uint64_t size = 0;  ///< at least kDropped if a segment of these Writes was dropped
  } written_;
};

}  // namespace iwarp::verbs
