// SPDX-License-Identifier: Apache-2.0
// Checks the rules that need only one frame, or only a Reply and its Request.
#include "frames/session/frame_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "iwarp/mpa/layout.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::apps::frames {
namespace {

using bytes::View;
using rdmap::Opcode;

bool pad_is_zero(const Frame& frame) {
  const mpa::FpduLayout layout(frame.position, frame.marked, frame.ulpdu_length);
  bool zero = true;
  layout.walk(
      layout.end_of(frame.ulpdu_length), layout.crc_offset(), [&](const mpa::FpduLayout::Run& run) {
        const View octets = frame.octets.subspan(run.offset, run.size);
        zero = zero && (run.marker ||
                        std::ranges::all_of(octets, [](std::byte b) { return b == std::byte{0}; }));
      });
  return zero;
}

std::string wrong_marker(const Frame& frame) {
  const auto says = bytes::load_be<std::uint32_t>(frame.octets.data() + frame.wrong_marker);
  const bool swapped = std::byteswap(static_cast<std::uint16_t>(says)) == frame.due_fpduptr;
  return fmt::format("the marker at octet {} of the TCP stream is {:08x} instead of {:08x}{}",
                     frame.offset + frame.wrong_marker, says, frame.due_fpduptr,
                     swapped ? ": FPDUPTR is in little-endian order" : "");
}

std::string late_marker(const Frame& frame, const mpa::FpduLayout& layout) {
  return fmt::format(
      "the marker at octet {} of the TCP stream is {} octets late: the sender does not count the "
      "CRC "
      "fields of earlier FPDUs",
      frame.offset + layout.marker_offset(0), frame.markers_late);
}

void judge_mpa(Explained& e) {
  const Frame& frame = *e.frame;
  if (frame.crc == CrcVerdict::kBad) {
    note(e, Rule::kCrc,
         fmt::format("the field is {:08x}, the computed CRC is {:08x}", frame.crc_field,
                     frame.crc_computed));
  }
  const mpa::FpduLayout layout(frame.position, frame.marked, frame.ulpdu_length);
  if (frame.markers_late != 0 && layout.marker_count() != 0) {
    note(e, Rule::kMarkerPlace, late_marker(frame, layout));
  }
  if (!frame.markers_agree) note(e, Rule::kMarkers, wrong_marker(frame));
  if (frame.ulpdu_length > mpa::kMaxMulpdu) {
    note(e, Rule::kUlpduLength, fmt::format("{} octets", frame.ulpdu_length));
  }
  if (frame.missing == 0 && frame.crc != CrcVerdict::kBad && !pad_is_zero(frame)) {
    note(e, Rule::kPad);
  }
}

void judge_header(Explained& e) {
  const auto& h = *e.header;
  constexpr unsigned kReserved = 0x3C;
  if ((std::to_integer<unsigned>(e.frame->ulpdu[0]) & kReserved) != 0) note(e, Rule::kDdpReserved);
  if (h.version != ddp::kDdpVersion) note(e, Rule::kDdpVersion, fmt::format("it is {}", h.version));
  if ((h.rsvd_ulp & rdmap::kVersionMask) != rdmap::kVersion) {
    note(e, Rule::kRdmapVersion, fmt::format("RV is {}", h.rsvd_ulp >> 6));
  }
  if ((h.rsvd_ulp & 0x30) != 0) note(e, Rule::kRdmapReserved);
  if (h.tagged && e.payload_size > 0 && h.to.value + (e.payload_size - 1) < h.to.value) {
    note(e, Rule::kToWraps);
  }
  if (!h.tagged && h.qn >= ddp::kQueues) note(e, Rule::kQueue, fmt::format("QN {}", h.qn));
  if (e.opcode == nullptr) {
    note(e, Rule::kOpcode, fmt::format("0x{:x}", h.rsvd_ulp & rdmap::kOpcodeMask));
    return;
  }
  if (h.tagged != e.opcode->tagged) {
    note(e, Rule::kModel);
  } else if (!h.tagged && h.qn != e.opcode->qn && h.qn < ddp::kQueues) {
    note(e, Rule::kQueueOfOpcode, fmt::format("QN {} instead of {}", h.qn, e.opcode->qn));
  }
  if (!h.tagged && !e.opcode->invalidates && h.rsvd_ulp_rest != 0) {
    note(e, rdmap::is_extension(e.opcode->opcode) ? Rule::kInvStagExtension : Rule::kInvStag,
         fmt::format("0x{:08x}", h.rsvd_ulp_rest));
  }
}

void judge_atomic_request(Explained& e) {
  if (e.payload_size != rdmap::kAtomicRequestSize) {
    note(e, Rule::kAtomicHeader, fmt::format("{} octets", e.payload_size));
    return;
  }
  const auto request = rdmap::decode_atomic_request(e.payload);
  if (!request) {
    if (e.payload.size() == e.payload_size) note(e, Rule::kAtomicOpcode);
  } else if (request->to.value % rdmap::kAtomicWord != 0) {
    note(e, Rule::kAtomicAligned, fmt::format("TO 0x{:x}", request->to.value));
  }
}

/// Checks the layout of a Terminate by encoding it again. The decoder also accepts siw's layout,
/// but the encoder produces only the correct layout, so a difference shows a wrong layout.
void judge_terminate(Explained& e) {
  const auto terminate = rdmap::decode_terminate(e.payload);
  if (!terminate) {
    if (e.payload.size() == e.payload_size)
      note(e, Rule::kTerminateHeader, "the Terminate is truncated");
    return;
  }
  const auto& fault = terminate->fault;
  const auto word =
      static_cast<std::uint8_t>((static_cast<unsigned>(fault.layer) << 4) | fault.type);
  if (std::to_integer<std::uint8_t>(e.payload[0]) != word) {
    note(e, Rule::kTerminateHeader,
         "layer and error type are swapped, as the kernel's siw sends them on little-endian hosts");
  }
  const std::string_view known = rdmap::explain(fault.layer, fault.type, fault.code);
  if (known == "unknown error") {
    note(e, Rule::kTerminateCode,
         fmt::format("{}/{}/{:02x}", static_cast<int>(fault.layer), fault.type, fault.code));
  }
}

void judge_message(Explained& e) {
  switch (e.opcode->opcode) {
    case Opcode::kReadRequest:
      if (e.payload_size != rdmap::kReadRequestSize) {
        note(e, Rule::kReadRequestHeader, fmt::format("{} octets", e.payload_size));
      }
      return;
    case Opcode::kAtomicRequest:
      return judge_atomic_request(e);
    case Opcode::kAtomicResponse:
      if (e.payload_size != rdmap::kAtomicResponseSize) {
        note(e, Rule::kAtomicHeader, fmt::format("{} octets", e.payload_size));
      }
      return;
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
      if (e.payload_size != rdmap::kImmediateSize) {
        note(e, Rule::kImmediateSize, fmt::format("{} octets", e.payload_size));
      }
      return;
    case Opcode::kTerminate:
      return judge_terminate(e);
    default:
      return;
  }
}

}  // namespace

void note(Explained& e, Rule rule, std::string detail) {
  if (e.frame->unsure) return;  // the decoder is not sure that these octets are a frame
  e.violations.push_back({rule, std::move(detail)});
}

std::optional<mpa::EnhancedWord> enhanced_word(const mpa::StartupFrame& frame) {
  if (!frame.enhanced || frame.private_data.size() < mpa::kEnhancedWordSize) return std::nullopt;
  return mpa::decode_enhanced_word(bytes::load_be<std::uint32_t>(frame.private_data.data()));
}

void judge_fpdu(Explained& e) {
  judge_mpa(e);
  // A wrong CRC means that the content was damaged in transit. The other rules cannot be checked.
  if (e.frame->crc == CrcVerdict::kBad) return;
  if (!e.header) {
    if (e.frame->missing == 0) note(e, Rule::kHeader);
    return;
  }
  judge_header(e);
  if (e.opcode != nullptr && e.header->tagged == e.opcode->tagged) judge_message(e);
}

void judge_startup(Explained& e) {
  const auto& frame = e.frame->startup;
  if (frame.revision < 1 || frame.revision > 2) {
    note(e, Rule::kRevision, fmt::format("{}", frame.revision));
  }
  if (frame.kind == mpa::FrameKind::kRequest && frame.rejected) note(e, Rule::kRejectInRequest);
  if (frame.enhanced && frame.revision < 2) note(e, Rule::kEnhancedRevision);
  if (frame.enhanced && !enhanced_word(frame)) note(e, Rule::kEnhancedWord);
}

void judge_reply(Explained& e, const mpa::StartupFrame& request) {
  const auto& reply = e.frame->startup;
  if (request.enhanced && !reply.enhanced && !reply.rejected) note(e, Rule::kEnhancedReply);
  if (!request.enhanced && reply.enhanced) note(e, Rule::kPlainReply);
  const auto asked = enhanced_word(request);
  const auto answered = enhanced_word(reply);
  if (!asked || !answered || reply.rejected) return;
  if (asked->peer_to_peer && !answered->peer_to_peer) note(e, Rule::kEchoPeerToPeer);
  if (!asked->peer_to_peer && answered->peer_to_peer) note(e, Rule::kEchoClientServer);
  const bool negotiated = asked->ird != mpa::kNoNegotiation && answered->ord != mpa::kNoNegotiation;
  if (negotiated && answered->ord > asked->ird) {
    note(e, Rule::kResponderOrd, fmt::format("ORD {}, IRD {}", answered->ord, asked->ird));
  }
}

}  // namespace iwarp::apps::frames
