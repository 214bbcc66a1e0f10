// SPDX-License-Identifier: Apache-2.0
// Writes the layers of a frame in the order of the wire.
#include "frames/report/frame_json.hpp"

#include <fmt/format.h>

#include "frames/model/fields.hpp"
#include "frames/report/frame_line.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/trace/smb_direct.hpp"

namespace iwarp::apps::frames {
namespace {

using rdmap::Opcode;

std::string hex32(std::uint32_t value) { return fmt::format("{:08x}", value); }
std::string hex64(std::uint64_t value) { return fmt::format("{:016x}", value); }

Json startup_json(const mpa::StartupFrame& frame) {
  Json out{{"frame", frame.kind == mpa::FrameKind::kRequest ? "request" : "reply"},
           {"revision", frame.revision},
           {"markers", frame.markers},
           {"crc", frame.crc},
           {"rejected", frame.rejected},
           {"private_data", frame.private_data.size()}};
  if (frame.enhanced && frame.private_data.size() >= mpa::kEnhancedWordSize) {
    const auto word =
        mpa::decode_enhanced_word(bytes::load_be<std::uint32_t>(frame.private_data.data()));
    out["enhanced"] = {{"peer_to_peer", word.peer_to_peer},
                       {"rtr_send", word.rtr_send},
                       {"rtr_write", word.rtr_write},
                       {"rtr_read", word.rtr_read},
                       {"ird", word.ird},
                       {"ord", word.ord}};
  }
  if (const auto depths = trace::smb_direct_depths(frame)) {
    out["smb_direct"] = {
        {"ird", depths->ird}, {"ord", depths->ord}, {"little_endian", depths->little_endian}};
  }
  return out;
}

Json mpa_json(const Frame& frame) {
  Json out{{"ulpdu_length", frame.ulpdu_length},
           {"pad", mpa::pad_size(frame.ulpdu_length)},
           {"crc", crc_word(frame.crc)},
           {"crc_field", hex32(frame.crc_field)}};
  if (frame.marked) {
    out["position"] = frame.position;
    out["fpduptrs"] = frame.fpduptrs;
    out["markers_agree"] = frame.markers_agree;
  }
  if (frame.guessed) out["guessed"] = true;
  if (frame.unsure) out["unsure"] = true;
  return out;
}

Json ddp_json(const Explained& e) {
  const auto& h = *e.header;
  Json out{{"tagged", h.tagged}, {"last", h.last}, {"version", h.version}};
  if (h.tagged) {
    out["stag"] = hex32(h.stag.value);
    out["to"] = hex64(h.to.value);
  } else {
    out["qn"] = h.qn;
    out["msn"] = h.msn.value;
    out["mo"] = h.mo;
  }
  out["payload"] = e.payload_size;
  return out;
}

Json read_json(bytes::View payload) {
  const auto r = rdmap::decode_read_request(payload);
  if (!r) return nullptr;
  return {{"sink_stag", hex32(r->sink_stag.value)},
          {"sink_to", hex64(r->sink_to.value)},
          {"size", r->size},
          {"source_stag", hex32(r->source_stag.value)},
          {"source_to", hex64(r->source_to.value)}};
}

Json atomic_json(bytes::View payload) {
  const auto r = rdmap::decode_atomic_request(payload);
  if (!r) return nullptr;
  return {{"operation", r->opcode == rdmap::AtomicOpcode::kFetchAdd ? "FetchAdd" : "CmpSwap"},
          {"id", hex32(r->id)},
          {"stag", hex32(r->stag.value)},
          {"to", hex64(r->to.value)},
          {"add_or_swap", hex64(r->add_or_swap)},
          {"mask", hex64(r->mask)},
          {"compare", hex64(r->compare)},
          {"compare_mask", hex64(r->compare_mask)}};
}

Json terminate_json(bytes::View payload) {
  const auto t = rdmap::decode_terminate(payload);
  if (!t) return nullptr;
  Json out{{"layer", static_cast<int>(t->fault.layer)},
           {"error_type", t->fault.type},
           {"code", t->fault.code},
           {"says", t->fault.why}};
  if (t->segment) out["segment_length"] = t->segment->segment_length;
  return out;
}

Json rdmap_json(const Explained& e) {
  const auto opcode = static_cast<unsigned>(e.header->rsvd_ulp & rdmap::kOpcodeMask);
  Json out{{"opcode", opcode}};
  if (e.opcode == nullptr) return out;
  out["name"] = e.opcode->name;
  if (e.opcode->invalidates) out["invalidate_stag"] = hex32(e.header->rsvd_ulp_rest);
  switch (e.opcode->opcode) {
    case Opcode::kReadRequest:
      out["read"] = read_json(e.payload);
      break;
    case Opcode::kAtomicRequest:
      out["atomic"] = atomic_json(e.payload);
      break;
    case Opcode::kAtomicResponse:
      if (const auto r = rdmap::decode_atomic_response(e.payload)) {
        out["atomic"] = {{"id", hex32(r->id)}, {"original", hex64(r->original)}};
      }
      break;
    case Opcode::kTerminate:
      out["terminate"] = terminate_json(e.payload);
      break;
    default:
      break;
  }
  return out;
}

Json origin_json(const StagOrigin& origin) {
  return {{"frame", origin.frame},
          {"guess", true},
          {"in", origin.startup ? "private data" : "payload"},
          {"with_address", origin.with_to},
          {"little_endian", origin.little_endian}};
}

void add_relations(Json& out, const Explained& e) {
  if (e.operation != 0) {
    out["operation"] = e.operation;
    out["first"] = e.first;
    out["octets_before"] = e.octets_before;
  }
  if (e.rtr != Rtr::kNone) out["rtr"] = true;
  if (e.request) out["request"] = *e.request;
  if (e.cause) out["cause"] = *e.cause;
  if (e.stag) out["uses_stag"] = hex32(*e.stag);
  if (e.stag_origin) out["stag_origin"] = origin_json(*e.stag_origin);
  if (e.violations.empty()) return;
  Json violations = Json::array();
  for (const auto& violation : e.violations) {
    const auto& rule = info(violation.rule);
    violations.push_back({{"rule", rule.id}, {"says", rule.says}, {"detail", violation.detail}});
    if (const auto field = field_of(violation.rule)) {
      violations.back()["field"] = static_cast<unsigned>(*field);
    }
  }
  out["violations"] = std::move(violations);
}

}  // namespace

Json frame_json(const Explained& e) {
  const Frame& frame = *e.frame;
  const bool startup = frame.kind == FrameKind::kStartup;
  Json out{{"kind", startup ? "startup" : "fpdu"}, {"text", frame_line(e)}};
  if (frame.missing != 0) out["missing"] = frame.missing;
  if (startup) {
    out["mpa"] = startup_json(frame.startup);
  } else {
    out["mpa"] = mpa_json(frame);
    if (e.header) {
      out["ddp"] = ddp_json(e);
      out["rdmap"] = rdmap_json(e);
    }
  }
  add_relations(out, e);
  return out;
}

}  // namespace iwarp::apps::frames
