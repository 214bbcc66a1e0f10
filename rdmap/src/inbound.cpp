// SPDX-License-Identifier: Apache-2.0
// The inbound half of an RDMAP stream: what DDP asks (ddp::Sink), and what becomes of whole
// messages (RFC 5040 sections 5 and 7.2).
#include <algorithm>

#include "iwarp/rdmap/stream.hpp"

namespace iwarp::rdmap {

using bytes::fault;
using bytes::Result;

namespace {

// The code of an access error depends on the message: DDP's for a Write, RDMAP's for a Read
// Request. RFC 5041 has no code for a missing right; "not associated" is the nearest. [DDP-74]
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
  }
  return ddp::kDdpCatastrophic;
}

// Only a whole Send without payload can be an RTR of the Send kind. Reserved bits do not count.
bool is_empty_send(bytes::View prefix, std::size_t ulpdu_length) {
  if (ulpdu_length != ddp::kUntaggedHeaderSize) return false;
  const auto header = ddp::decode_segment_header(prefix);
  return header && header->last &&
         (header->rsvd_ulp & kOpcodeMask) == static_cast<std::uint8_t>(Opcode::kSend);
}

}  // namespace

Result<ddp::Arrival> Stream::begin(bytes::View prefix, std::size_t ulpdu_length) {
  remember_segment(prefix, ulpdu_length);
  if (rtr_send_expected_) rtr_send_expected_ = is_empty_send(prefix, ulpdu_length);
  auto arrival = receiver_.begin(prefix, ulpdu_length);
  // DDP only reports; a Terminate can still be sent. [DDP-62] [DDP-64] [DDP-82] [RDMAP-96]
  if (!arrival) terminate(arrival.error(), true);
  return arrival;
}

Result<void> Stream::end() {
  if (state_ != StreamState::kRdma) {
    // It ended while the payload was on its way; the segment is dropped. [DDP-8] [RDMAP-89]
    cancel();
    return {};
  }
  const auto done = receiver_.end();
  if (receiver_.current().tagged) ulp_.release_target();
  if (!done) terminate(done.error(), true);
  return done;
}

void Stream::cancel() { ulp_.release_target(); }

void Stream::remember_segment(bytes::View prefix, std::size_t ulpdu_length) {
  const bool tagged = !prefix.empty() && (std::to_integer<unsigned>(prefix[0]) & 0x80) != 0;
  const auto wanted = tagged ? ddp::kTaggedHeaderSize : ddp::kUntaggedHeaderSize;
  current_segment_.segment_length = static_cast<std::uint16_t>(ulpdu_length);
  current_segment_.ddp_header_size = prefix.size() < wanted ? 0 : wanted;
  current_segment_.rdma_header_size = 0;
  std::copy_n(prefix.begin(), current_segment_.ddp_header_size,
              current_segment_.ddp_header.begin());
}

Result<void> Stream::admit(const ddp::SegmentHeader& h) {
  if ((h.rsvd_ulp & kVersionMask) != kVersion) return fault(kVersionInvalid);  // [RDMAP-98]
  // Opcodes above 7 are not ours. [RDMAP-97] [REG-4]
  const OpcodeInfo* row = find_opcode(h.rsvd_ulp & kOpcodeMask);
  if (row == nullptr) return fault(kUnexpectedOpcode);
  // The model and the queue are part of what the opcode means. [RDMAP-5] [RDMAP-7]
  if (row->tagged != h.tagged) return fault(kUnexpectedOpcode);
  if (!row->tagged && row->qn != h.qn) return fault(kUnexpectedOpcode);
  // A response that answers nothing. [RDMAP-46]
  if (row->opcode == Opcode::kReadResponse && outstanding_.empty()) return fault(kUnexpectedOpcode);
  return {};
}

Result<bytes::Scatter> Stream::tagged_target(const ddp::SegmentHeader& h, std::uint32_t length) {
  if (static_cast<Opcode>(h.rsvd_ulp & kOpcodeMask) == Opcode::kReadResponse) {
    return response_target(h, length);
  }
  const auto memory = ulp_.write_target(h.stag, h.to, length);
  if (!memory) return fault(write_fault(memory.error()));
  return bytes::Scatter{*memory};
}

// Deviation from the verbs draft: a response goes where our own request said, whatever rights its
// STag has for the peer, and nowhere else. Programs for siw and rdma-core expect that. [VRB-31]
Result<bytes::Scatter> Stream::response_target(const ddp::SegmentHeader& h, std::uint32_t length) {
  OutstandingRequest& read = outstanding_.front();
  if (h.stag != read.sink_stag) return fault(ddp::kTaggedInvalidStag);  // [RDMAP-46]
  if (h.to.value != read.sink_to.value + read.received) return fault(ddp::kTaggedBounds);
  if (length > read.length - read.received) return fault(ddp::kTaggedBounds);
  const auto target = read.sink.subspan(read.received, length);
  read.received += length;
  return bytes::Scatter{target};
}

Result<ddp::UntaggedBuffer> Stream::untagged_buffer(const ddp::SegmentHeader& h) {
  switch (h.qn) {
    case kSendQueue:
      if (rtr_send_expected_) return ddp::UntaggedBuffer{};  // It is empty, and nobody's. [EMPA-38]
      return ulp_.receive_buffer();  // DDP refuses what does not fit. [RDMAP-51]
    case kReadRequestQueue:
      // IRD buffers, one per request not yet answered. [RDMAP-31] [RDMAP-43] [RDMAP-84]
      if (inbound_.full()) return fault(ddp::kUntaggedNoBuffer);
      return ddp::UntaggedBuffer{.pieces = {bytes::Span(read_request_octets_)}};
    case kTerminateQueue:
      // One Terminate can always be placed. [RDMAP-60] [RDMAP-61]
      return ddp::UntaggedBuffer{.pieces = {bytes::Span(terminate_octets_)}};
    default:
      return fault(ddp::kUntaggedQn);
  }
}

Result<void> Stream::deliver(const ddp::Delivery& delivery) {
  const auto& row = info(static_cast<Opcode>(delivery.header.rsvd_ulp & kOpcodeMask));
  switch (row.opcode) {
    case Opcode::kWrite:
      return {};  // A valid Write is never shown to the ULP of the sink. [RDMAP-24]
    case Opcode::kReadRequest:
      return deliver_read_request(delivery);
    case Opcode::kReadResponse:
      return deliver_read_response();
    case Opcode::kTerminate:
      return deliver_terminate(delivery);
    default:
      return deliver_send(delivery, row);
  }
}

Result<void> Stream::deliver_send(const ddp::Delivery& delivery, const OpcodeInfo& row) {
  if (rtr_send_expected_) {
    rtr_send_expected_ = false;
    return {};
  }
  // Whole, and in order, as DDP delivers. [RDMAP-52] [RDMAP-74]
  // InvSTag counts for the Invalidate kinds only; the ULP may refuse it. [RDMAP-4] [RDMAP-10]
  // [RDMAP-99] [RDMAP-100]
  return ulp_.send_received({.opcode = row.opcode,
                             .length = delivery.length,
                             .solicited = row.solicited,
                             .invalidate = row.invalidates,
                             .invalidated = Stag{delivery.header.rsvd_ulp_rest}});
}

Result<void> Stream::deliver_read_request(const ddp::Delivery& delivery) {
  if (delivery.length != kReadRequestSize) {
    return fault({Layer::kRdma, 2, 0xFF, "Read Request shorter than its header"});
  }
  const auto request = decode_read_request(read_request_octets_);
  current_segment_.rdma_header = read_request_octets_;
  current_segment_.rdma_header_size = kReadRequestSize;
  // Answered by start_response(), in order and not before now; the ULP never sees it. [RDMAP-32]
  // [RDMAP-35] [RDMAP-69] [RDMAP-75]
  inbound_.push({.request = *request, .msn = delivery.header.msn});
  return {};
}

Result<void> Stream::deliver_read_response() {
  const OutstandingRequest done = outstanding_.front();
  if (done.received != done.length) {
    return fault({Layer::kDdp, 1, 0x01, "Read Response shorter than asked for"});  // [RDMAP-46]
  }
  outstanding_.pop();
  if (!done.internal) ulp_.read_done(done.cookie);  // [RDMAP-44] [RDMAP-68] [RDMAP-79]
  return {};
}

Result<void> Stream::deliver_terminate(const ddp::Delivery& delivery) {
  auto terminate = decode_terminate(bytes::View(terminate_octets_).first(delivery.length));
  if (!terminate) {
    return fault({Layer::kRdma, 2, 0xFF, "Terminate shorter than its control field"});
  }
  peer_ = *terminate;
  step(StreamEvent::kTerminateArrived);
  abandon();  // Nothing is sent any more, least of all a Terminate. [RDMAP-64] [VRB-10]
  ulp_.terminate_received(*peer_);  // [RDMAP-62]
  return {};
}

}  // namespace iwarp::rdmap
