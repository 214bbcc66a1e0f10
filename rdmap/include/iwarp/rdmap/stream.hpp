// SPDX-License-Identifier: Apache-2.0
// Stream: one RDMAP stream (RFC 5040, RFC 7306) on top of its DDP stream (RFC 5041). [RDMAP-1]
// Owns the stream state machine, IRD and ORD, the order of what is sent, and the Terminate: the
// first Fault of any layer becomes one here and nowhere else. Sans-IO and sans-MPA: segments in
// with begin()/end(), segments out with next_segment().
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

class Stream {
 public:
  Stream(Ulp& ulp, const StreamOptions& options);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Inbound ------------------------------------------------------------------------------------
  /// A segment has begun: see ddp::Receiver::begin(). A Fault has already made the stream
  /// kTerminating; poll next_segment(). Only in state kRdma.
  bytes::Check begin(bytes::View prefix, std::size_t ulpdu_length);
  /// Where the payload of the segment last begun goes, after a begin() without Fault.
  const ddp::Arrival& arrival() const { return receiver_.arrival(); }
  /// Its payload is in place. May call the Ulp and may queue a response. When the stream has ended
  /// since begin(), the segment counts no more and nothing happens.
  bytes::Check end();
  /// The message of the segment last begun, after a begin() without Fault.
  const OpcodeInfo& arriving() const { return *arriving_; }
  /// Instead of end(): the payload will not come whole (its CRC was wrong, the connection is gone).
  void cancel();
  /// How many octets of a ULPDU begin() wants to see: the DDP header.
  static constexpr std::size_t kPrefix = ddp::kUntaggedHeaderSize;

  // Outbound -----------------------------------------------------------------------------------
  /// The next segment to send, at most `mulpdu` octets of ULPDU; false: nothing now. Poll again
  /// after end(), sent() and whenever the Ulp has new work. Between this call and segment_taken()
  /// the payload must be read or copied.
  bool next_segment(std::size_t mulpdu, OutSegment& out);
  void segment_taken() {
    if (sending_ == Sending::kResponse) ulp_.release_source();
  }
  /// next_segment() has something that does not come from the Ulp, or the rest of a message.
  bool has_output() const {
    return terminate_pending_ || own_request_ || !inbound_.empty() || !transmitter_.idle();
  }
  /// A token of OutSegment has left.
  void sent(std::uint64_t token);
  /// Queues the RTR in front of everything else. Once, before the first next_segment(). [EMPA-38]
  void send_rtr(RtrKind kind);
  void acknowledge_held();  ///< all in front of the message last begun, which waits

  // The end ------------------------------------------------------------------------------------
  /// Ends the stream with this error. `about_segment`: echo the segment last begun. The first call
  /// counts, later ones do nothing. [RDMAP-95]
  void terminate(const Fault& fault, bool about_segment);
  void lower_layer_closed();
  /// Drops requests and responses that were not sent; the outstanding Reads as well.
  void abandon();

  StreamState state() const { return state_; }
  /// The Terminate we sent or shall send. [VRB-15]
  const std::optional<Terminate>& own_terminate() const { return own_; }
  const std::optional<Terminate>& peer_terminate() const { return peer_; }
  /// Reads and Atomics of ours that wait for a response.
  std::size_t outstanding_reads() const { return outstanding_.size(); }
  /// Reads and Atomics of the peer not yet answered in full.
  std::size_t inbound_reads() const { return inbound_.size(); }
  /// An Immediate of the peer has come, and not the Send that it belongs to.
  bool awaits_send() const { return announced_ != 0; }
  /// Nothing is half sent: the next segment would start a message.
  bool at_message_boundary() const { return transmitter_.idle(); }
  /// For tests of the MSN wrap.
  ddp::Transmitter& transmitter() { return transmitter_; }
  ddp::Receiver& receiver() { return receiver_; }

 private:
  // Sink of the receiver
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

  BoundedFifo<InboundRequest> inbound_;  ///< shared with no other stream [RDMAP-126] [SEC-25]
  BoundedFifo<OutstandingRequest> outstanding_;
  std::array<std::byte, kAtomicRequestSize> request_octets_{};  ///< Read or Atomic Request
  std::array<std::byte, kAtomicResponseSize> response_octets_{};
  std::array<std::byte, kImmediateSize> immediate_octets_{};
  bool immediate_open_ = false;  ///< the message on the Send queue goes to immediate_octets_
  std::uint64_t announced_ = 0;  ///< the Immediate of the Send that comes next; 0: none
  std::uint16_t unexpected_;     ///< a bit for each opcode that may not come now
  std::array<std::byte, kMaxTerminateSize> terminate_octets_{};
  TerminatedSegment current_segment_;     ///< last begun; its header as long as the prefix was
  const OpcodeInfo* arriving_ = nullptr;  ///< its message, once admitted
  bool rtr_send_expected_ = false;

  enum class Sending : std::uint8_t { kRequest, kResponse } sending_ = Sending::kRequest;
  bool response_turn_ = false;  ///< responses and requests take turns at message boundaries
  Request request_;
  bool request_internal_ = false;
  AtomicResponse atomic_response_;      ///< the one about to be sent
  std::optional<Request> own_request_;  ///< an RTR, or the acknowledgement of what was delivered
  bool terminate_pending_ = false;
  std::optional<Terminate> own_;
  std::optional<Terminate> peer_;
};

}  // namespace iwarp::rdmap
