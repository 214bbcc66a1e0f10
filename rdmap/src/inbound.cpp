// SPDX-License-Identifier: Apache-2.0
// The inbound half of an RDMAP stream: the functions that ddp::Receiver calls on its Sink, and the
// handling of whole messages (RFC 5040 sections 5 and 7.2, RFC 7306 sections 5, 6 and 8.2).
#include <algorithm>
#include <cstring>

#include "iwarp/rdmap/stream.hpp"

namespace iwarp::rdmap {

using bytes::Check;
using bytes::fault;

namespace {

// Returns the fault for an access error in a Write. The access errors of a Write are faults of DDP;
// the access errors of a Read Request are faults of RDMAP. RFC 5041 has no code for a missing
// right, so this function returns the nearest one, "not associated". [DDP-74]
Fault write_fault(AccessError error) {
  switch (error) {
    case AccessError::kStagInvalid:
      return ddp::kTaggedInvalidStag;  // [DDP-24] [DDP-73]
    case AccessError::kOutOfBounds:
      return ddp::kTaggedBounds;  // [DDP-75] [DDP-76]
    case AccessError::kNoRight:
      return ddp::kTaggedNotAssociated;
    case AccessError::kOtherStream:
      return ddp::kTaggedNotAssociated;  // [DDP-84] [DDP-85]
    case AccessError::kWraps:
      return ddp::kTaggedWrap;  // [DDP-77]
    case AccessError::kNotEnabled:
      return kUnexpectedOpcode;
    case AccessError::kMisaligned:
      break;  // An RDMA Write needs no alignment.
  }
  return ddp::kDdpCatastrophic;
}

constexpr unsigned kResponses =
    opcode_bit(Opcode::kReadResponse) | opcode_bit(Opcode::kAtomicResponse);

// Between an Immediate that announces a Send (see kOfNextSend) and that Send, the peer may send
// only responses and its Terminate.
constexpr auto kUnexpectedBeforeItsSend =
    static_cast<std::uint16_t>(~(opcode_bit(Opcode::kSend) | opcode_bit(Opcode::kSendSolicited) |
                                 kResponses | opcode_bit(Opcode::kTerminate)));

// Returns the MSN of the message that waits for a receive at the peer, if `write` acknowledges
// messages (see rdmap::kHeldStag) and both ends agreed to that. Otherwise returns nullopt.
inline std::optional<Msn> acknowledges(const ddp::Delivery& write, const StreamOptions& options) {
  if (write.length != 0 || !options.send_immediate) return std::nullopt;
  return held_message(write.header.stag, write.header.to);
}

}  // namespace

Check Stream::begin(bytes::View prefix, std::size_t ulpdu_length) {
  remember_segment(prefix, ulpdu_length);
  const auto begun = receiver_.begin(*this, prefix, ulpdu_length);
  // DDP only reports the fault and leaves the connection usable, so that a Terminate can be sent.
  // [DDP-62] [DDP-64] [DDP-82] [RDMAP-96] [EXT-62]
  if (!begun) terminate(begun.error(), true);
  return begun;
}

Check Stream::end() {
  if (state_ != StreamState::kRdma) {
    // The stream has ended since begin(), while the payload arrived, so drop the segment. [DDP-8]
    // [RDMAP-89]
    cancel();
    return {};
  }
  if (receiver_.current().tagged) ulp_.release_target();
  const auto done = receiver_.end(*this);
  if (!done) terminate(done.error(), true);
  return done;
}

void Stream::cancel() { ulp_.release_target(); }

inline void Stream::remember_segment(bytes::View prefix, std::size_t ulpdu_length) {
  TerminatedSegment& segment = current_segment_;
  segment.segment_length = static_cast<std::uint16_t>(ulpdu_length);
  segment.ddp_header_size = std::min(prefix.size(), kPrefix);
  segment.rdma_header_size = 0;
  // The usual case; with a constant size, memcpy() is inlined.
  if (segment.ddp_header_size == kPrefix) {
    std::memcpy(segment.ddp_header.data(), prefix.data(), kPrefix);
  } else {
    std::ranges::copy(prefix, segment.ddp_header.begin());
  }
}

inline Check Stream::admit(const ddp::SegmentHeader& h) {
  // [RDMAP-98] [EXT-64]
  if ((h.rsvd_ulp & kVersionMask) != kVersion) [[unlikely]]
    return fault(kVersionInvalid);
  // Opcodes above B are unassigned, and the peer may use opcodes above 7 only if both ends agreed
  // to RFC 7306. [RDMAP-97] [REG-4] [EXT-2] [EXT-63]
  const auto opcode = static_cast<Opcode>(h.rsvd_ulp & kOpcodeMask);
  const auto bit = opcode_bit(opcode);
  if ((unexpected_ & bit) != 0) [[unlikely]]
    return fault(kUnexpectedOpcode);
  // The opcode determines the model and the queue, which is 0 for a tagged segment. [RDMAP-5]
  // [RDMAP-7]
  const OpcodeInfo& row = info(opcode);
  if (row.tagged != h.tagged || row.qn != h.qn) [[unlikely]]
    return fault(kUnexpectedOpcode);
  // Refuse a response that does not answer the oldest outstanding request. [RDMAP-46] [EXT-38]
  if ((bit & kResponses) != 0) {
    const bool due = !outstanding_.empty() && outstanding_.front().response == opcode;
    if (!due) return fault(kUnexpectedOpcode);
  }
  arriving_ = &row;
  if (rtr_send_expected_) {
    // Only a whole Send without payload can be an RTR of the Send kind.
    rtr_send_expected_ = opcode == Opcode::kSend && h.last &&
                         current_segment_.segment_length == ddp::kUntaggedHeaderSize;
  }
  return {};
}

inline Check Stream::tagged_target(const ddp::SegmentHeader& h, std::uint32_t length,
                                   bytes::Scatter& target) {
  if (arriving_->opcode == Opcode::kReadResponse) return response_target(h, length, target);
  bytes::Span memory;
  const auto judged = ulp_.write_target(h.stag, h.to, length, memory);
  if (!judged) return fault(write_fault(judged.error()));
  target.push_back(memory);
  return {};
}

// Deviation from the verbs draft: a response is placed in the sink of this end's request and
// nowhere else, even if the sink's STag does not permit the peer to write there. Programs that were
// written for siw and rdma-core expect this. [VRB-31]
Check Stream::response_target(const ddp::SegmentHeader& h, std::uint32_t length,
                              bytes::Scatter& target) {
  OutstandingRequest& read = outstanding_.front();
  if (h.stag != read.sink_stag) return fault(ddp::kTaggedInvalidStag);  // [RDMAP-46]
  if (h.to.value != read.sink_to.value + read.received) return fault(ddp::kTaggedBounds);
  if (length > read.length - read.received) return fault(ddp::kTaggedBounds);
  target.push_back(read.sink.subspan(read.received, length));
  read.received += length;
  return {};
}

inline Check Stream::untagged_buffer(const ddp::SegmentHeader& h, ddp::UntaggedBuffer& buffer) {
  if (h.qn == kSendQueue) return send_buffer(buffer);
  const bytes::Span request(request_octets_);
  switch (h.qn) {
    case kReadRequestQueue:
      // This end has IRD buffers, and each unanswered request occupies one of them. [RDMAP-31]
      // [RDMAP-43] [RDMAP-84] [EXT-25] [EXT-34]
      if (inbound_.full()) return fault(ddp::kUntaggedNoBuffer);
      buffer.pieces.push_back(
          arriving_->opcode == Opcode::kAtomicRequest ? request : request.first(kReadRequestSize));
      return {};
    case kAtomicResponseQueue:
      // There is a buffer for this response, because admit() has checked that a request waits for
      // it. [EXT-32] [EXT-35]
      buffer.pieces.push_back(response_octets_);
      return {};
    case kTerminateQueue:
      // There is always room for one Terminate. [RDMAP-60] [RDMAP-61]
      buffer.pieces.push_back(terminate_octets_);
      return {};
    default:
      return fault(ddp::kUntaggedQn);
  }
}

inline Check Stream::send_buffer(ddp::UntaggedBuffer& buffer) {
  if (rtr_send_expected_) return {};  // An empty RTR consumes no receive. [EMPA-38]
  // DDP refuses a message longer than `buffer`. [RDMAP-51]
  const auto asked = ulp_.receive_buffer(buffer);
  if (!asked || !buffer.ready) return asked;
  immediate_open_ = is_immediate(arriving_->opcode);
  // The completion carries the value of the Immediate, so the stream receives it in
  // immediate_octets_ and not in the application's memory. [EXT-50]
  if (immediate_open_) {
    buffer.pieces.clear();
    buffer.pieces.push_back(immediate_octets_);
    buffer.beyond = ddp::UntaggedBuffer::Beyond::kTooLong;
  }
  return {};
}

inline Check Stream::deliver(const ddp::Delivery& delivery) {
  const OpcodeInfo& row = *arriving_;
  if (row.tagged) {
    // A valid Write is never reported to the ULP of the sink. [RDMAP-24]
    if (row.opcode != Opcode::kWrite) return deliver_read_response();
    if (const auto held = acknowledges(delivery, options_)) {
      // The Write is itself an acknowledgement, so this end must not acknowledge it. Treat it like
      // a Read Response, which is never acknowledged.
      arriving_ = &info(Opcode::kReadResponse);
      ulp_.delivered_before(*held);
    }
    return {};
  }
  if (row.qn == kSendQueue) return deliver_send(delivery, row);
  switch (row.opcode) {
    case Opcode::kReadRequest:
      return deliver_read_request(delivery);
    case Opcode::kAtomicRequest:
      return deliver_atomic_request(delivery);
    case Opcode::kAtomicResponse:
      return deliver_atomic_response(delivery);
    default:
      return deliver_terminate(delivery);
  }
}

inline Check Stream::deliver_send(const ddp::Delivery& delivery, const OpcodeInfo& row) {
  if (rtr_send_expected_) {
    rtr_send_expected_ = false;
    return {};
  }
  // The octets of a Send and of an Immediate are placed in different memory. So all segments of a
  // message must have an opcode of the same kind.
  if (immediate_open_ != is_immediate(row.opcode)) return fault(kUnexpectedOpcode);
  if (immediate_open_) return deliver_immediate(delivery.length, row);
  const auto announced = announced_;
  if (announced != 0) forget_announced();
  // DDP delivers only whole messages, in order. [RDMAP-52] [RDMAP-74] [EXT-51] [EXT-55] The
  // Invalidate STag is used only for the two Sends with Invalidate; the ULP may refuse it.
  // [RDMAP-4] [RDMAP-10] [RDMAP-99] [RDMAP-100] [EXT-3]
  return ulp_.send_received({.opcode = row.opcode,
                             .length = delivery.length,
                             .solicited = row.solicited,
                             .invalidate = row.invalidates,
                             .invalidated = Stag{delivery.header.rsvd_ulp_rest},
                             .immediate = announced});
}

// An Immediate has exactly eight octets. DDP has already refused a longer one, because the buffer
// has eight octets. [EXT-54]
Check Stream::deliver_immediate(std::uint32_t length, const OpcodeInfo& row) {
  if (length != kImmediateSize) {
    return fault({Layer::kRdma, 2, 0xFF, "Immediate Data shorter than 8 octets"});
  }
  const auto immediate = bytes::load_be<std::uint64_t>(immediate_octets_.data());
  if (options_.send_immediate && announces_send(immediate)) {
    announced_ = immediate;  // The receive completes when the Send has arrived.
    unexpected_ = kUnexpectedBeforeItsSend;
    return {};
  }
  return ulp_.send_received(
      {.opcode = row.opcode, .solicited = row.solicited, .immediate = immediate});
}

void Stream::forget_announced() {
  announced_ = 0;
  unexpected_ = kUnassignedOpcodes;
}

Check Stream::deliver_read_request(const ddp::Delivery& delivery) {
  if (delivery.length != kReadRequestSize) {
    return fault({Layer::kRdma, 2, 0xFF, "Read Request shorter than its header"});
  }
  const bytes::View octets = bytes::View(request_octets_).first(kReadRequestSize);
  const auto request = decode_read_request(octets);
  std::ranges::copy(octets, current_segment_.rdma_header.begin());
  current_segment_.rdma_header_size = kReadRequestSize;
  if (options_.empty_reads_only && request->size != 0) return fault(kUnexpectedOpcode);
  // start_response() answers the request after all earlier requests; the ULP never sees it.
  // [RDMAP-32] [RDMAP-35] [RDMAP-69] [RDMAP-75]
  inbound_.push({.request = *request, .msn = delivery.header.msn});
  return {};
}

Check Stream::deliver_read_response() {
  const OutstandingRequest done = outstanding_.front();
  if (done.received != done.length) {
    return fault(
        {Layer::kDdp, 1, 0x01, "Read Response shorter than the requested length"});  // [RDMAP-46]
  }
  outstanding_.pop();
  if (!done.internal) ulp_.read_done(done.cookie);  // [RDMAP-44] [RDMAP-68] [RDMAP-79]
  return {};
}

// Checks only the octets of the request. start_atomic_response() checks its target when the
// request's turn comes. By then every message that the peer sent before the request has been
// delivered, and later messages may have been delivered too. [EXT-26] [EXT-30] [EXT-43] [EXT-44]
// [EXT-45] [EXT-46] [EXT-58] [EXT-59]
Check Stream::deliver_atomic_request(const ddp::Delivery& delivery) {
  const auto request = decode_atomic_request(bytes::View(request_octets_).first(delivery.length));
  if (!request) return fault(request.error());
  if (options_.empty_reads_only) return fault(kUnexpectedOpcode);
  inbound_.push({.request = *request, .msn = delivery.header.msn});
  return {};
}

Check Stream::deliver_atomic_response(const ddp::Delivery& delivery) {
  const auto response =
      decode_atomic_response(bytes::View(response_octets_).first(delivery.length));
  if (!response) return fault({Layer::kRdma, 2, 0xFF, "Atomic Response shorter than its header"});
  const OutstandingRequest done = outstanding_.front();
  if (response->id != done.id) {
    return fault({Layer::kRdma, 2, 0xFF,
                  "Atomic Response with a wrong Original Request Identifier"});  // [EXT-38]
  }
  outstanding_.pop();
  ulp_.atomic_done(done.cookie, response->original);  // [EXT-36] [EXT-47]
  return {};
}

Check Stream::deliver_terminate(const ddp::Delivery& delivery) {
  auto terminate = decode_terminate(bytes::View(terminate_octets_).first(delivery.length));
  if (!terminate) {
    return fault({Layer::kRdma, 2, 0xFF, "Terminate shorter than its Terminate Control field"});
  }
  peer_ = *terminate;
  step(StreamEvent::kTerminateArrived);
  abandon();  // Send nothing more, and no Terminate either. [RDMAP-64] [VRB-10]
  ulp_.terminate_received(*peer_);  // [RDMAP-62]
  return {};
}

}  // namespace iwarp::rdmap
