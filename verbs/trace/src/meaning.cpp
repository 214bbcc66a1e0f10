// SPDX-License-Identifier: Apache-2.0
// Describes frames in verbs terms (RFC 5040 section 5, RFC 7306 for atomic and immediate messages,
// RFC 6581 for the startup).
#include "meaning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/trace/smb_direct.hpp"

namespace iwarp::trace {
namespace {

using rdmap::Opcode;

struct Names {
  std::string_view sender;
  std::string_view receiver;
};

std::string startup_meaning(const mpa::StartupFrame& frame, const Names& n) {
  const std::size_t word = frame.enhanced ? mpa::kEnhancedWordSize : 0;
  const auto ulp = frame.private_data.subspan(std::min(word, frame.private_data.size()));
  const auto said =
      frame.rejected ? mpa::Extensions::kNone : mpa::advertised_extensions(frame.kind, ulp);
  const auto size = ulp.size() - (said != mpa::Extensions::kNone ? mpa::kExtensionsTagSize : 0);
  auto data = size != 0 ? fmt::format(", with {} octets of private data", size) : "";
  if (const auto depths = smb_direct_depths(frame)) data += fmt::format(" ({})", describe(*depths));
  if (said != mpa::Extensions::kNone) data += ", and supports RFC 7306";
  if (mpa::spoken(said) == mpa::Extensions::kSendImmediate) data += " and Send with Immediate";
  if (said == mpa::Extensions::kAcknowledged)
    data += ", and requests acknowledgements of placed data";
  if (frame.kind == mpa::FrameKind::kRequest) {
    return fmt::format("{} asks {} for a connection{}", n.sender, n.receiver, data);
  }
  if (frame.rejected) return fmt::format("{} rejects the connection{}", n.sender, data);
  return fmt::format("{} accepts the connection{}; both queue pairs enter RTS", n.sender, data);
}

std::string write_meaning(const ddp::SegmentHeader& h, std::size_t payload, bool first_frame,
                          const Names& n) {
  if (payload == 0 && first_frame) {
    return fmt::format(
        "zero-length RDMA Write as the ready-to-receive message (RTR): it places nothing, and from "
        "now on {} may send",
        n.receiver);
  }
  return fmt::format("{}{} octets into {}'s STag 0x{:08x}, to be placed without waking its program",
                     h.last ? "RDMA Write of " : "one part of an RDMA Write: ", payload, n.receiver,
                     h.stag.value);
}

std::string read_request_meaning(bytes::View payload, bool first_frame, const Names& n) {
  const auto request = rdmap::decode_read_request(payload);
  if (!request) return "a truncated RDMA Read Request";
  if (request->size == 0 && first_frame) {
    return fmt::format(
        "zero-length RDMA Read as the ready-to-receive message (RTR): it reads nothing, and from "
        "now on {} may send",
        n.receiver);
  }
  return fmt::format(
      "RDMA Read of {} octets from {}'s STag 0x{:08x}, to be answered without waking its program",
      request->size, n.receiver, request->source_stag.value);
}

std::string read_response_meaning(const ddp::SegmentHeader& h, std::size_t payload,
                                  const Names& n) {
  return fmt::format("{} octets in answer to {}'s RDMA Read, for the sink STag 0x{:08x}{}", payload,
                     n.receiver, h.stag.value, h.last ? "; the Read is complete" : "; more follow");
}

std::string send_meaning(const rdmap::OpcodeInfo& row, const ddp::SegmentHeader& h,
                         std::size_t payload, const Names& n) {
  if (!h.last && h.mo == 0) {
    return fmt::format("first {} octets of a Send, which consumes one receive posted by {}",
                       payload, n.receiver);
  }
  if (!h.last) return fmt::format("{} more octets of a Send, for the same receive", payload);
  auto text = h.mo == 0
                  ? fmt::format("Send of {} octets, which consumes one receive posted by {}",
                                payload, n.receiver)
                  : fmt::format("last {} octets of a Send of {} octets; the receive is complete",
                                payload, h.mo + payload);
  if (row.solicited) text += "; wakes a program that waits for solicited events";
  if (row.invalidates) {
    text += fmt::format("; invalidates {}'s STag 0x{:08x}", n.receiver, h.rsvd_ulp_rest);
  }
  return text;
}

std::string immediate_meaning(const rdmap::OpcodeInfo& row, bytes::View payload, const Names& n) {
  if (payload.size() != rdmap::kImmediateSize) return "Immediate Data whose length is not 8 octets";
  return fmt::format(
      "Immediate Data 0x{:016x}, which completes one receive posted by {} and leaves its buffer "
      "unchanged{}",
      bytes::load_be<std::uint64_t>(payload.data()), n.receiver,
      row.solicited ? "; wakes a program that waits for solicited events" : "");
}

// Describes an Atomic Request without its masks, which the RDMAP line shows.
std::string atomic_request_meaning(bytes::View payload, const Names& n) {
  const auto r = rdmap::decode_atomic_request(payload);
  if (!r) return "an Atomic Request that is truncated or has an unknown operation";
  const auto where = fmt::format("the word at 0x{:x} of {}'s STag 0x{:08x}", r->to.value,
                                 n.receiver, r->stag.value);
  const auto what =
      r->opcode == rdmap::AtomicOpcode::kFetchAdd
          ? fmt::format("FetchAdd: adds {} to {}", r->add_or_swap, where)
          : fmt::format("CmpSwap: if {} is {}, sets it to {}", where, r->compare, r->add_or_swap);
  return fmt::format("{}, atomically and without waking {}'s program", what, n.receiver);
}

std::string atomic_response_meaning(bytes::View payload, const Names& n) {
  const auto r = rdmap::decode_atomic_response(payload);
  if (!r) return "a truncated Atomic Response";
  return fmt::format("{}'s atomic operation is complete; the word was {} before", n.receiver,
                     r->original);
}

std::string terminate_meaning(bytes::View payload, const Names& n) {
  const auto terminate = rdmap::decode_terminate(payload);
  return fmt::format(
      "Terminate: {} ends the stream because of {}; both Queue Pairs go to Error and flush their "
      "work",
      n.sender,
      terminate ? fmt::format("\"{}\"", terminate->fault.why) : "an error whose code is truncated");
}

std::string segment_meaning(const Frame& frame, const Names& n) {
  const auto header = ddp::decode_segment_header(frame.ulpdu);
  if (!header) {
    return frame.missing != 0 ? "unknown: the DDP header was not completely captured"
                              : "no effect: the ULPDU does not contain a complete DDP header";
  }
  const auto payload = frame.ulpdu.subspan(header->size());
  // Compute the size from the length field, because a capture may lack some octets of the payload.
  const std::size_t size = frame.ulpdu_length - std::min(frame.ulpdu_length, header->size());
  const auto* row = rdmap::find_opcode(*header);
  if (row == nullptr) {
    return fmt::format("an operation that {0} does not support; {0} answers with a Terminate",
                       n.receiver);
  }
  switch (row->opcode) {
    case Opcode::kWrite:
      return write_meaning(*header, size, frame.position == 0, n);
    case Opcode::kReadRequest:
      return read_request_meaning(payload, frame.position == 0, n);
    case Opcode::kReadResponse:
      return read_response_meaning(*header, size, n);
    case Opcode::kTerminate:
      return terminate_meaning(payload, n);
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
      return immediate_meaning(*row, payload, n);
    case Opcode::kAtomicRequest:
      return atomic_request_meaning(payload, n);
    case Opcode::kAtomicResponse:
      return atomic_response_meaning(payload, n);
    default:
      return send_meaning(*row, *header, size, n);
  }
}

}  // namespace

std::string meaning(const Frame& frame, std::string_view sender, std::string_view receiver) {
  const Names names{sender, receiver};
  switch (frame.kind) {
    case FrameKind::kStartup:
      return startup_meaning(frame.startup, names);
    case FrameKind::kUndecodable:
      return "nothing";
    case FrameKind::kFpdu:
      break;
  }
  if (frame.crc == CrcVerdict::kBad) {
    return fmt::format("no effect: the CRC is wrong; {} discards the FPDU and ends the stream",
                       receiver);
  }
  return segment_meaning(frame, names);
}

}  // namespace iwarp::trace
