// SPDX-License-Identifier: Apache-2.0
// The outbound half of an RDMAP stream and its state machine (RFC 5040 sections 5, 6.2 and 7.1,
// RFC 7306 sections 5.3 to 7).
#include "iwarp/rdmap/stream.hpp"

namespace iwarp::rdmap {
namespace {

// Values of OutSegment::token: 0 means no token, then follow kAnswerToken and the Terminate, and
// any other value is a cookie of the ULP plus 3.
constexpr std::uint64_t kNoToken = 0;
constexpr std::uint64_t kTerminateToken = kAnswerToken + 1;
constexpr std::uint64_t ulp_token(std::uint64_t cookie) { return cookie + kTerminateToken + 1; }
constexpr std::uint64_t ulp_cookie(std::uint64_t token) { return token - kTerminateToken - 1; }

// Returns the fault for an access error that occurred while a Read or Atomic of the peer was being
// answered. [RDMAP-39] [EXT-67]
Fault response_fault(AccessError error) {
  switch (error) {
    case AccessError::kStagInvalid:
      return kInvalidStag;  // [RDMAP-101]
    case AccessError::kOutOfBounds:
      return kBounds;  // [RDMAP-103] [RDMAP-104]
    case AccessError::kNoRight:
      return kAccessRights;
    case AccessError::kOtherStream:
      return kNotAssociated;  // [RDMAP-102]
    case AccessError::kWraps:
      return kWrap;  // [RDMAP-105]
    case AccessError::kMisaligned:
      return kStreamCatastrophic;  // [EXT-10] [EXT-17] [EXT-66]
    case AccessError::kNotEnabled:
      return kUnexpectedOpcode;
  }
  return kStreamCatastrophic;
}

Request rtr_request(RtrKind kind) {
  // An RTR has length 0. Its STag is 1, because some hardware refuses STag 0 even in an empty
  // tagged message. [EMPA-38]
  Request r;
  r.stag = r.sink_stag = Stag{1};
  switch (kind) {
    case RtrKind::kWrite:
      r.opcode = Opcode::kWrite;
      break;
    case RtrKind::kRead:
      r.opcode = Opcode::kReadRequest;
      break;
    case RtrKind::kSend:
      r.opcode = Opcode::kSend;
      r.stag = Stag{0};
      break;
  }
  return r;
}

Request held_request(Msn msn) {
  return {.opcode = Opcode::kWrite, .stag = kHeldStag, .to = held_to(msn)};
}

// Returns whether `last` is an Immediate that announces a Send (see kOfNextSend). If so, the next
// request must be this Send.
bool awaits_its_send(const Request& last, const StreamOptions& options) {
  return options.send_immediate && is_immediate(last.opcode) && announces_send(last.immediate);
}

// Returns the size of the RDMAP header if messages with this opcode consist of nothing else, and 0
// if their payload comes from the ULP. [RDMAP-11]
constexpr std::uint8_t own_size(Opcode opcode) {
  if (opcode == Opcode::kReadRequest) return kReadRequestSize;
  if (opcode == Opcode::kAtomicRequest) return kAtomicRequestSize;
  return is_immediate(opcode) ? kImmediateSize : 0;
}

// The properties of the message that carries a request, in one machine word. Most of them come from
// kOpcodes.
struct alignas(8) Shape {
  bool tagged = false;
  bool invalidates = false;
  bool answered = false;
  std::uint8_t qn = 0;
  std::uint8_t header_only = 0;
};
constexpr auto kShapes = [] {
  std::array<Shape, kOpcodes.size()> shapes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const OpcodeInfo& row = kOpcodes[i];
    const bool answered =
        row.opcode == Opcode::kReadRequest || row.opcode == Opcode::kAtomicRequest;
    shapes[i] = {row.tagged, row.invalidates, answered, static_cast<std::uint8_t>(row.qn),
                 own_size(row.opcode)};
  }
  return shapes;
}();
constexpr const Shape& shape(Opcode opcode) { return kShapes[static_cast<std::size_t>(opcode)]; }
constexpr std::uint32_t header_only_size(Opcode opcode) { return shape(opcode).header_only; }

// Returns the DDP message of an operation: model, queue, control octet and length.
inline ddp::Message message_for(const Request& r) {
  const Shape& row = shape(r.opcode);
  return {.tagged = row.tagged,
          .rsvd_ulp = control_octet(r.opcode),
          .rsvd_ulp_rest = row.invalidates ? r.stag.value : 0,  // [RDMAP-4] [RDMAP-10] [EXT-3]
          .stag = r.stag,
          .to = r.to,
          .qn = row.qn,
          .length = row.header_only != 0 ? row.header_only : r.length};
}

// Appends the RDMAP header after the DDP header.
void append_header(const Request& r, OutSegment& out) {
  bytes::Writer header(std::span(out.header).subspan(out.header_size));
  if (is_immediate(r.opcode)) {
    header.u64(r.immediate);  // [EXT-52]
  } else if (r.opcode == Opcode::kAtomicRequest) {
    encode(r.atomic, header);
  } else {
    encode({.sink_stag = r.sink_stag,
            .sink_to = r.sink_to,
            .size = r.length,
            .source_stag = r.stag,
            .source_to = r.to},
           header);
  }
  out.header_size += header.size();
}

// Records that a Read or an Atomic waits for its response.
[[gnu::noinline]] void push_outstanding(const Request& r, bool internal,
                                        BoundedFifo<OutstandingRequest>& out) {
  if (r.opcode == Opcode::kAtomicRequest) {
    out.push({.response = Opcode::kAtomicResponse, .id = r.atomic.id, .cookie = r.cookie});
  } else {
    out.push({.sink_stag = r.sink_stag,
              .sink_to = r.sink_to,
              .sink = r.sink,
              .length = r.length,
              .received = 0,
              .cookie = r.cookie,
              .internal = internal});
  }
}

// Returns the segment with its DDP header and no octets after that, or with no header if the stored
// prefix does not contain the whole header.
TerminatedSegment with_whole_header(TerminatedSegment segment) {
  const auto prefix = bytes::View(segment.ddp_header).first(segment.ddp_header_size);
  const auto wanted = ddp::header_size(prefix);
  segment.ddp_header_size = prefix.size() < wanted ? 0 : wanted;
  return segment;
}

}  // namespace

Stream::Stream(Ulp& ulp, const StreamOptions& options)
    : ulp_(ulp),
      options_(options),
      inbound_(options.ird),
      outstanding_(options.ord + 1),  // one more, because the RTR may be a Read
      unexpected_(kUnassignedOpcodes | (options.extensions ? 0 : kExtensionOpcodes)),
      rtr_send_expected_(options.rtr_send_expected) {}

void Stream::step(StreamEvent event) { bytes::advance(kStreamEdges, state_, event); }

void Stream::send_rtr(RtrKind kind) { own_request_ = rtr_request(kind); }

// A new acknowledgement replaces an older one that has not been sent yet, but never an RTR.
void Stream::acknowledge_held() {
  if (!options_.peer_acknowledged) return;
  if (own_request_ && !held_message(own_request_->stag, own_request_->to)) return;
  own_request_ = held_request(receiver_.expected_msn(kSendQueue));
}

void Stream::terminate(const Fault& f, bool about_segment) {
  if (state_ != StreamState::kRdma) return;  // Only the first error is reported. [RDMAP-95]
  // The fault may come from any layer. [DDP-66] [MPA-109] [RDMAP-85]
  std::optional<TerminatedSegment> segment;
  if (about_segment) segment = with_whole_header(current_segment_);
  own_ = make_terminate(f, segment);
  step(StreamEvent::kError);
  // From the next segment on, this end sends only the answers to the peer's earlier Reads and
  // Atomics, which it must answer because they are valid, and then the Terminate. [RDMAP-37]
  // [VRB-20]
  outstanding_.clear();
  own_request_.reset();
  if (sending_ == Sending::kRequest) transmitter_.abandon();
  terminate_pending_ = true;
}

void Stream::lower_layer_closed() {
  step(StreamEvent::kLowerLayerClosed);
  abandon();
}

void Stream::abandon() {
  abandon_answers();
  outstanding_.clear();
  own_request_.reset();
  terminate_pending_ = false;
}

void Stream::abandon_answers() {
  transmitter_.abandon();
  inbound_.clear();
}

bool Stream::next_segment(std::size_t mulpdu, OutSegment& out) {
  out.copy_payload = false;
  out.token = kNoToken;
  if (terminate_pending_) {
    const bool answers = !transmitter_.idle() || start_response();
    if (!answers || !response_segment(mulpdu, out)) terminate_segment(out);
    return true;
  }
  // Only RDMA Messages are sent, and none after either end has sent a Terminate. [RDMAP-63]
  // [RDMAP-80]
  if (state_ != StreamState::kRdma) return false;
  if (transmitter_.idle() && !start_something()) {
    if (!terminate_pending_) return false;
    terminate_segment(out);
    return true;
  }
  if (sending_ == Sending::kRequest) {
    request_segment(mulpdu, out);
    return true;
  }
  if (response_segment(mulpdu, out)) return true;
  terminate_segment(out);  // The memory that the peer reads is no longer accessible.
  return true;
}

// Starts the next message. Requests are sent in the order in which the Ulp submits them, and
// responses in the order of their requests. Requests and responses take turns. [RDMAP-26]
// [RDMAP-34] [RDMAP-45] [RDMAP-55] [RDMAP-71] [RDMAP-78] [EXT-29] [EXT-39] [EXT-53]
inline bool Stream::start_something() {
  response_turn_ = !response_turn_;
  const bool response_first = !own_request_ && (response_turn_ || owes_empty_answer());
  if (response_first && start_response()) return true;
  if (state_ != StreamState::kRdma) return false;  // start_response() has queued a Terminate.
  return start_request() || (!response_first && start_response());
}

// Returns whether the peer's oldest unanswered request is an empty Read. With such a Read, a peer
// asks whether all earlier messages have arrived. The stream answers before it sends any request
// that this end's application posts in reaction to those messages, because an RDMA adapter also
// acknowledges a message before its application can react.
inline bool Stream::owes_empty_answer() const {
  if (inbound_.empty()) return false;
  const auto* read = std::get_if<ReadRequest>(&inbound_.front().request);
  return read != nullptr && read->size == 0;
}

inline bool Stream::start_request() {
  request_internal_ = own_request_ && !awaits_its_send(request_, options_);
  if (request_internal_) {
    request_ = *own_request_;
    own_request_.reset();
  } else if (!ulp_.next_request(outstanding_.size() < options_.ord, request_)) {
    return false;
  }
  sending_ = Sending::kRequest;
  if (shape(request_.opcode).answered) push_outstanding(request_, request_internal_, outstanding_);
  transmitter_.start(message_for(request_));
  return true;
}

inline void Stream::request_segment(std::size_t mulpdu, OutSegment& out) {
  const auto& segment = transmitter_.next(mulpdu);
  out.header_size = ddp::encode(segment.header, out.header.data());
  if (header_only_size(request_.opcode) != 0) {
    out.payload.clear();
    append_header(request_, out);
  } else {
    bytes::assign_slice(out.payload, request_.payload, segment.offset, segment.length);
  }
  // The request completes only when its last segment has been sent. [RDMAP-72]
  if (segment.header.last && !request_internal_) out.token = ulp_token(request_.cookie);
}

// Answers one request at a time, so that a Read or an Atomic sees the effects of all earlier
// Atomics. [EXT-30] [EXT-48] [EXT-57]
bool Stream::start_response() {
  if (inbound_.empty()) return false;
  const auto& request = inbound_.front().request;
  if (const auto* read = std::get_if<ReadRequest>(&request)) return start_read_response(*read);
  return start_atomic_response(std::get<AtomicRequest>(request));
}

bool Stream::start_read_response(const ReadRequest& r) {
  // [IBV-153]
  if (r.size != 0) {  // An empty Read is answered without a check. [RDMAP-40] [RDMAP-41] [SEC-19]
    const auto source = ulp_.read_source(r.source_stag, r.source_to, r.size);
    ulp_.release_source();
    if (!source) {
      fail_response(source.error(), 0);
      return false;
    }
  }
  sending_ = Sending::kResponse;  // Each request gets exactly one response. [RDMAP-29] [RDMAP-37]
  // The response carries the STag and TO of the request's sink. [RDMAP-13]
  transmitter_.start({.tagged = true,
                      .rsvd_ulp = control_octet(Opcode::kReadResponse),
                      .rsvd_ulp_rest = 0,
                      .stag = r.sink_stag,
                      .to = r.sink_to,
                      .qn = 0,
                      .length = r.size});
  return true;
}

bool Stream::start_atomic_response(const AtomicRequest& atomic) {
  // Check the alignment of the TO before any memory is accessed. Ulp::atomic(), which knows the
  // address, checks the alignment of the memory. [EXT-9] [EXT-11] [EXT-15] [EXT-16] [EXT-21]
  // [EXT-65]
  const auto original = atomic.to.value % kAtomicWord != 0
                            ? std::unexpected(AccessError::kMisaligned)
                            : ulp_.atomic(atomic);
  if (!original) {
    fail_response(original.error(), 0);
    return false;
  }
  sending_ = Sending::kResponse;
  atomic_response_ = {.id = atomic.id, .original = *original};  // [EXT-31] [EXT-37]
  transmitter_.start({.rsvd_ulp = control_octet(Opcode::kAtomicResponse),
                      .qn = kAtomicResponseQueue,
                      .length = kAtomicResponseSize});
  return true;
}

bool Stream::response_segment(std::size_t mulpdu, OutSegment& out) {
  out.payload.clear();
  const auto& segment = transmitter_.next(mulpdu);
  bytes::Writer header(out.header);
  ddp::encode(segment.header, header);
  if (const auto* read = std::get_if<ReadRequest>(&inbound_.front().request)) {
    if (segment.length != 0 && !read_payload(*read, segment, out)) return false;
  } else {
    encode(atomic_response_, header);
  }
  out.header_size = header.size();
  out.token = kAnswerToken;
  if (segment.header.last) inbound_.pop();
  return true;
}

// Asks the Ulp for the memory again for each segment, so that access is refused as soon as a right
// has been revoked. [VRB-37]
bool Stream::read_payload(const ReadRequest& read, const ddp::Segment& segment, OutSegment& out) {
  const TaggedOffset from{read.source_to.value + segment.offset};
  const auto source = ulp_.read_source(read.source_stag, from, segment.length);
  if (!source) {
    ulp_.release_source();
    fail_response(source.error(), segment.offset);
    return false;
  }
  out.payload = {*source};
  // Another peer or the application may write to the memory while it is being sent, but the CRC has
  // to match the octets that are sent.
  out.copy_payload = true;
  return true;
}

// Ends the stream, and answers neither the peer's oldest request nor any later one. If the stream
// is ending already, the Terminate is about another message, and the failed request is only
// dropped. The Terminate echoes the headers of the request. The offsets in an echoed Read Request
// are advanced by the number of octets that this end has already sent. If the request is an Atomic,
// the Terminate echoes no RDMA header. [RDMAP-22] [RDMAP-94] [EXT-61]
void Stream::fail_response(AccessError error, std::uint32_t offset) {
  const InboundRequest inbound = inbound_.front();
  const auto* read = std::get_if<ReadRequest>(&inbound.request);
  const auto opcode = read != nullptr ? Opcode::kReadRequest : Opcode::kAtomicRequest;
  const ddp::SegmentHeader header{.tagged = false,
                                  .last = true,
                                  .rsvd_ulp = control_octet(opcode),
                                  .qn = kReadRequestQueue,
                                  .msn = inbound.msn};
  TerminatedSegment segment;
  segment.segment_length = static_cast<std::uint16_t>(header.size() + header_only_size(opcode));
  bytes::Writer ddp_out(segment.ddp_header);
  ddp::encode(header, ddp_out);
  segment.ddp_header_size = header.size();
  if (read != nullptr) {
    ReadRequest r = *read;
    r.sink_to.value += offset;
    r.source_to.value += offset;
    r.size -= offset;
    bytes::Writer rdma_out(segment.rdma_header);
    encode(r, rdma_out);
    segment.rdma_header_size = kReadRequestSize;
  }
  abandon_answers();
  current_segment_ = segment;
  terminate(response_fault(error), true);
}

void Stream::terminate_segment(OutSegment& out) {
  terminate_pending_ = false;
  std::array<std::byte, kMaxTerminateSize> payload;
  bytes::Writer body(payload);
  encode(*own_, body);
  transmitter_.start({.tagged = false,
                      .rsvd_ulp = control_octet(Opcode::kTerminate),
                      .qn = kTerminateQueue,
                      .length = static_cast<std::uint32_t>(body.size())});
  const auto& segment = transmitter_.next(ddp::kUntaggedHeaderSize + kMaxTerminateSize);
  bytes::Writer header(out.header);
  ddp::encode(segment.header, header);
  header.put(body.written());
  out.header_size = header.size();
  out.payload.clear();
  out.copy_payload = false;
  out.token = kTerminateToken;
}

void Stream::sent(std::uint64_t token) {
  if (token <= kAnswerToken) return;
  if (token == kTerminateToken) {
    step(StreamEvent::kTerminateLeft);
  } else {
    ulp_.sent(ulp_cookie(token));
  }
}

}  // namespace iwarp::rdmap
