// SPDX-License-Identifier: Apache-2.0
// Stream: one RDMAP stream (RFC 5040, RFC 7306) on top of its DDP stream (RFC 5041). [RDMAP-1]
// Stream runs the stream state machine, enforces IRD and ORD, and decides the order in which
// messages are sent. Only Stream turns the first Fault of any layer into a Terminate. Stream does
// no I/O and does not depend on MPA: the caller passes in inbound segments with begin() and end(),
// and gets outbound segments from next_segment(). Stream does not judge which memory the peer may
// use; the Ulp does.
//
// <!-- figure: source test/unit/rdmap/support.hpp | block std::optional<Fault> feed -->
// ```cpp
// std::optional<Fault> feed(bytes::View ulpdu) {
//   const auto prefix = std::min(ulpdu.size(), Stream::kPrefix);
//   const auto begun = stream.begin(ulpdu.first(prefix), ulpdu.size());
//   if (!begun) return begun.error();
//   const ddp::Arrival& arrival = stream.arrival();
//   REQUIRE_FALSE(arrival.hold);
//   REQUIRE(bytes::total_size(arrival.target) == arrival.length);
//   auto from = ulpdu.subspan(arrival.header.size()).begin();
//   for (const auto& piece : arrival.target) {
//     std::copy_n(from, piece.size(), piece.begin());
//     from += static_cast<std::ptrdiff_t>(piece.size());
//   }
//   const auto done = stream.end();
//   if (!done) return done.error();
//   return std::nullopt;
// }
// ```
// <!-- end -->
#pragma once

#include <array>
#include <optional>

#include "iwarp/ddp/receiver.hpp"
#include "iwarp/ddp/transmitter.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/rdmap/request_queues.hpp"
#include "iwarp/rdmap/stream_fsm.hpp"
#include "iwarp/rdmap/stream_types.hpp"
#include "iwarp/rdmap/ulp.hpp"

namespace iwarp::rdmap {

/// An RDMAP stream. Not thread-safe.
class Stream {
 public:
  /// `ulp` must outlive the stream. Throws std::bad_alloc.
  Stream(Ulp& ulp, const StreamOptions& options);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Inbound ------------------------------------------------------------------------------------
  /// Begins an inbound segment, see ddp::Receiver::begin(). Call only in state kRdma. On a fault,
  /// moves the stream to kTerminating; poll next_segment() for the Terminate.
  bytes::Check begin(bytes::View prefix, std::size_t ulpdu_length);
  /// Returns where the payload of the segment goes. Call after begin() has succeeded.
  const ddp::Arrival& arrival() const { return receiver_.arrival(); }
  /// Ends the segment, whose payload the caller has placed. May call the Ulp and may queue a
  /// response. Does nothing if the stream has ended since begin(). On a fault, moves the stream to
  /// kTerminating, like begin().
  bytes::Check end();
  /// Returns the row of kOpcodes for the message that the segment belongs to. Call after begin()
  /// has succeeded.
  const OpcodeInfo& arriving() const { return *arriving_; }
  /// Drops the segment of the last begin(). Call instead of end() if the payload will not arrive
  /// whole, because the CRC is wrong or the connection is lost.
  void cancel();
  /// The number of octets of a ULPDU that begin() needs, which is the size of the largest DDP
  /// header.
  static constexpr std::size_t kPrefix = ddp::kUntaggedHeaderSize;

  // Outbound -----------------------------------------------------------------------------------
  /// Sets `out` to the next segment to send, with at most `mulpdu` octets of ULPDU. Returns false
  /// if there is no segment to send now; call again after end(), after sent() and whenever the Ulp
  /// has a new request. The payload of `out` is valid until segment_taken(), which must follow.
  bool next_segment(std::size_t mulpdu, OutSegment& out);
  /// Reports that the caller no longer needs the payload of the last next_segment(): the caller has
  /// copied it, or the Ulp keeps the memory valid until sent().
  void segment_taken() {
    if (sending_ == Sending::kResponse) ulp_.release_source();
  }
  /// Returns whether next_segment() would return a segment even if the Ulp had no request.
  bool has_output() const {
    return terminate_pending_ || own_request_ || !inbound_.empty() || !transmitter_.idle();
  }
  /// Reports that the last octet of the segment with this OutSegment::token has been sent.
  void sent(std::uint64_t token);
  /// Queues the RTR ahead of all other messages. Call once, before the first next_segment().
  /// [EMPA-38]
  void send_rtr(RtrKind kind);
  /// Call if the message of the last begin() waits until a receive is posted. Queues an
  /// acknowledgement of all messages before it. Does nothing if the peer does not understand the
  /// acknowledgement. See kHeldStag.
  void acknowledge_held();

  // The end ------------------------------------------------------------------------------------
  /// Ends the stream with a Terminate for `fault`. If `about_segment`, the Terminate echoes the
  /// headers of the segment of the last begin(). The answers to the peer's Reads and Atomics that
  /// have arrived precede the Terminate. Does nothing if the stream is ending already. [RDMAP-95]
  void terminate(const Fault& fault, bool about_segment);
  /// Ends the stream because the lower layer is closed.
  void lower_layer_closed();
  /// Drops all requests and responses that have not been sent, and all outstanding Reads and
  /// Atomics.
  void abandon();
  /// Drops all answers that have not been sent; the Terminate, if one is pending, is sent without
  /// them.
  void abandon_answers();

  /// Returns the current state.
  StreamState state() const { return state_; }
  /// Returns the Terminate that this end has sent or is going to send, if any. [VRB-15]
  const std::optional<Terminate>& own_terminate() const { return own_; }
  /// Returns the peer's Terminate, if it has arrived.
  const std::optional<Terminate>& peer_terminate() const { return peer_; }
  /// Returns how many Reads and Atomics of the peer have not been answered in full.
  std::size_t inbound_reads() const { return inbound_.size(); }
  /// Returns these Reads and Atomics, in the order of their arrival.
  const BoundedFifo<InboundRequest>& unanswered() const { return inbound_; }
  /// Returns whether an Immediate that announces a Send has arrived, but not yet that Send.
  bool awaits_send() const { return announced_ != 0; }
  /// Returns whether no message is partly sent. If so, the next segment starts a message.
  bool at_message_boundary() const { return transmitter_.idle(); }

 private:
  // Functions that receiver_ calls, see ddp::Receiver.
  friend ddp::Receiver;
  bytes::Check admit(const ddp::SegmentHeader& header);
  bytes::Check tagged_target(const ddp::SegmentHeader& header, std::uint32_t length,
                             bytes::Scatter& target);
  bytes::Check untagged_buffer(const ddp::SegmentHeader& first, ddp::UntaggedBuffer& buffer);
  bytes::Check deliver(const ddp::Delivery& delivery);

  bytes::Check response_target(const ddp::SegmentHeader& header, std::uint32_t length,
                               bytes::Scatter& target);
  bytes::Check send_buffer(ddp::UntaggedBuffer& buffer);
  bytes::Check deliver_send(const ddp::Delivery& delivery, const OpcodeInfo& row);
  bytes::Check deliver_read_request(const ddp::Delivery& delivery);
  bytes::Check deliver_read_response();
  bytes::Check deliver_atomic_request(const ddp::Delivery& delivery);
  bytes::Check deliver_atomic_response(const ddp::Delivery& delivery);
  bytes::Check deliver_immediate(std::uint32_t length, const OpcodeInfo& row);
  void forget_announced();
  bytes::Check deliver_terminate(const ddp::Delivery& delivery);

  void step(StreamEvent event);
  bool start_something();
  bool owes_empty_answer() const;
  bool start_response();
  bool start_read_response(const ReadRequest& read);
  bool start_atomic_response(const AtomicRequest& atomic);
  bool start_request();
  bool response_segment(std::size_t mulpdu, OutSegment& out);
  bool read_payload(const ReadRequest& read, const ddp::Segment& segment, OutSegment& out);
  void request_segment(std::size_t mulpdu, OutSegment& out);
  void terminate_segment(OutSegment& out);
  void fail_response(AccessError error, std::uint32_t offset);
  void remember_segment(bytes::View prefix, std::size_t ulpdu_length);

  Ulp& ulp_;
  StreamOptions options_;
  StreamState state_ = StreamState::kRdma;
  ddp::Receiver receiver_;
  ddp::Transmitter transmitter_;

  /// Requests of the peer. This queue is not shared with other streams. [RDMAP-126] [SEC-25]
  BoundedFifo<InboundRequest> inbound_;
  BoundedFifo<OutstandingRequest> outstanding_;
  /// The octets of a Read or Atomic Request that is arriving.
  std::array<std::byte, kAtomicRequestSize> request_octets_{};
  std::array<std::byte, kAtomicResponseSize> response_octets_{};
  std::array<std::byte, kImmediateSize> immediate_octets_{};
  bool immediate_open_ = false;  ///< the message arriving on queue 0 goes to immediate_octets_
  /// Immediate whose announced Send has not arrived yet, or 0 if there is none
  std::uint64_t announced_ = 0;
  std::uint16_t unexpected_;  ///< bits of the opcodes that the peer must not send now
  std::array<std::byte, kMaxTerminateSize> terminate_octets_{};
  TerminatedSegment current_segment_;     ///< segment of the last begin()
  const OpcodeInfo* arriving_ = nullptr;  ///< message of the last begin(), set by admit()
  bool rtr_send_expected_ = false;

  enum class Sending : std::uint8_t { kRequest, kResponse } sending_ = Sending::kRequest;
  bool response_turn_ = false;  ///< responses go first at this message boundary
  Request request_;
  bool request_internal_ = false;
  AtomicResponse atomic_response_;  ///< the response that is about to be sent
  /// An RTR or an acknowledgement, sent before the Ulp's requests.
  std::optional<Request> own_request_;
  bool terminate_pending_ = false;
  std::optional<Terminate> own_;
  std::optional<Terminate> peer_;
};

}  // namespace iwarp::rdmap
