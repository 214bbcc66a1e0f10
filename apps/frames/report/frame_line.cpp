// SPDX-License-Identifier: Apache-2.0
// Composes each line from the descriptions that the layers provide.
#include "frames/report/frame_line.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "frames/report/append.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/rdmap/describe.hpp"
#include "iwarp/trace/smb_direct.hpp"

namespace iwarp::apps::frames {
namespace {

using rdmap::Opcode;

std::string without(std::string text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text;
}

/// Returns whether the message's payload is application data. If so, the line shows the size of the
/// payload and where it is placed.
bool carries_payload(const Explained& e) {
  switch (e.opcode->opcode) {
    case Opcode::kReadRequest:
    case Opcode::kTerminate:
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
    case Opcode::kAtomicRequest:
    case Opcode::kAtomicResponse:
      return false;
    default:
      return true;
  }
}

std::string payload_text(const Explained& e) {
  const auto& h = *e.header;
  std::string text(", ");
  append_number(text, e.payload_size);
  text += " octets";
  if (!h.last || e.octets_before != 0) {
    text += fmt::format(" from {} on{}", e.octets_before, h.last ? ", the last" : "");
  }
  if (h.tagged) text += fmt::format(" to STag=0x{:08x} TO=0x{:x}", h.stag.value, h.to.value);
  return text;
}

std::string fpdu_line(const Explained& e) {
  if (!e.header) {
    return fmt::format("FPDU with ULPDU_Length {}: no readable DDP header", e.frame->ulpdu_length);
  }
  auto text = without(rdmap::describe_message(e.frame->ulpdu), "RDMAP ");
  if (e.operation != 0) {
    // Insert the number after the name of the message.
    const auto name = e.opcode->name.size();
    std::string number(" #");
    append_number(number, e.operation);
    text.insert(text.starts_with(e.opcode->name) ? name : text.size(), number);
  }
  if (e.opcode != nullptr && carries_payload(e)) text += payload_text(e);
  if (e.meant) {
    text += fmt::format(
        "; in little-endian order its fields mean {} octets from STag=0x{:08x} TO=0x{:x} to "
        "STag=0x{:08x} "
        "TO=0x{:x}",
        e.meant->size, e.meant->source_stag.value, e.meant->source_to.value,
        e.meant->sink_stag.value, e.meant->sink_to.value);
  }
  return text;
}

}  // namespace

std::string frame_line(const Explained& e) {
  if (e.frame->kind == FrameKind::kStartup) {
    const auto& startup = e.frame->startup;
    auto text = mpa::describe_startup_frame(e.frame->octets);
    if (const auto depths = trace::smb_direct_depths(startup)) text += ", " + describe(*depths);
    const bool rejects = startup.rejected && startup.kind == mpa::FrameKind::kReply;
    return text + (rejects ? ": rejected" : "");
  }
  auto text = fpdu_line(e);
  if (e.frame->crc == CrcVerdict::kBad) text += " (damaged)";
  if (e.frame->crc == CrcVerdict::kUnknown) {
    text += fmt::format(" ({} octets were not captured)", e.frame->missing);
  }
  if (e.frame->unsure) text += " (unsure)";
  return text;
}

std::vector<std::string> relations(const Explained& e) {
  std::vector<std::string> out;
  if (e.rtr != Rtr::kNone) {
    out.push_back(fmt::format(
        "{}a ready-to-receive message (RTR){}", e.rtr == Rtr::kAgreed ? "" : "probably ",
        e.rtr == Rtr::kAgreed ? "" : ", which some adapters also send with MPA revision 1"));
  }
  if (e.request) out.push_back(fmt::format("answers frame {}", *e.request));
  if (e.cause) out.push_back(fmt::format("because of frame {}", *e.cause));
  if (e.stag_origin && e.first) {
    const auto& origin = *e.stag_origin;
    out.push_back(fmt::format("a guess: STag advertised in {}frame {}{}",
                              origin.startup ? "the private data of " : "", origin.frame,
                              origin.with_to ? ", with the address" : ""));
  }
  return out;
}

std::string violation_line(const Violation& violation) {
  const auto& rule = info(violation.rule);
  auto text = fmt::format("[{}] {}", rule.id, rule.says);
  if (!violation.detail.empty()) text += ": " + violation.detail;
  return text;
}

const char* crc_word(CrcVerdict crc) {
  constexpr std::array kWords{"good", "BAD", "off", "unknown"};
  return kWords[static_cast<std::size_t>(crc)];
}

}  // namespace iwarp::apps::frames
