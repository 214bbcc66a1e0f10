// SPDX-License-Identifier: Apache-2.0
// From the trace decoder's frames to what a case judges.
#include "conform/hearing.hpp"

#include <fmt/format.h>

namespace iwarp::apps::conform {
namespace {

std::string describe(const Segment& s) {
  if (s.is(rdmap::Opcode::kTerminate)) return describe(read_terminate(s));
  const auto* row = rdmap::find_opcode(s.opcode());
  std::string text = row != nullptr ? std::string(row->name)
                                    : fmt::format("a message of opcode 0x{:x}", s.opcode());
  text += fmt::format(" of {} octets", s.payload().size());
  if (s.crc == trace::CrcVerdict::kBad) text += " with a wrong CRC";
  return text;
}

Segment to_segment(const trace::Frame& frame) {
  Segment s{.ulpdu = Octets(frame.ulpdu.begin(), frame.ulpdu.end()),
            .octets = Octets(frame.octets.begin(), frame.octets.end()),
            .position = frame.position,
            .crc = frame.crc,
            .crc_field = frame.crc_field,
            .fpduptrs = frame.fpduptrs,
            .markers_agree = frame.markers_agree};
  if (const auto header = ddp::decode_segment_header(s.ulpdu)) s.header = *header;
  return s;
}

}  // namespace

HeardTerminate read_terminate(const Segment& segment) {
  HeardTerminate heard{.segment = segment, .terminate = {}};
  const auto decoded = rdmap::decode_terminate(segment.payload());
  if (!decoded) return heard;
  heard.terminate = *decoded;
  const auto first = std::to_integer<unsigned>(segment.payload()[0]);
  const bool flags_high = (segment.payload()[2] & std::byte{0x1F}) == std::byte{0};
  heard.standard_layout = flags_high && first >> 4 == static_cast<unsigned>(decoded->fault.layer) &&
                          (first & 0x0F) == decoded->fault.type;
  return heard;
}

bool reports(const HeardTerminate& terminate, const bytes::Fault& fault) {
  const auto& came = terminate.terminate.fault;
  if (came == fault) return true;
  const auto payload = terminate.segment.payload();
  if (payload.size() < 4 || payload[2] != std::byte{0}) return false;
  return static_cast<unsigned>(came.layer) == fault.type &&
         came.type == static_cast<unsigned>(fault.layer) && came.code == fault.code;
}

std::string describe(const HeardTerminate& t) {
  return fmt::format("Terminate {}{}", bytes::to_string(t.terminate.fault),
                     t.standard_layout ? "" : " (control word laid out wrongly)");
}

std::string describe(const Heard& heard) {
  switch (heard.kind) {
    case Heard::Kind::kStartup:
      return heard.startup->kind == mpa::FrameKind::kRequest ? "an MPA Request" : "an MPA Reply";
    case Heard::Kind::kSegment:
      return describe(*heard.segment);
    case Heard::Kind::kGarbage:
      return fmt::format("{} octets that are no frame: {}", heard.octets.size(), heard.why);
    case Heard::Kind::kClosed:
      return "TCP closed (FIN)";
    case Heard::Kind::kReset:
      return "TCP reset";
    case Heard::Kind::kNothing:
      return "nothing within the time limit";
  }
  return "?";
}

Hearing::Hearing() { restart(); }

void Hearing::restart() {
  heard_.clear();
  end_.reset();
  decoder_ = std::make_unique<trace::StreamDecoder>([this](const trace::Frame& f) { take(f); });
}

void Hearing::said(const mpa::StartupFrame& frame) {
  Octets octets(mpa::startup_frame_size(frame.private_data.size()));
  bytes::Writer writer(octets);
  mpa::encode(frame, writer);
  decoder_->octets(trace::Side::kNear, octets);
}

void Hearing::octets(bytes::View octets) { decoder_->octets(trace::Side::kFar, octets); }

void Hearing::ended(bool reset) {
  if (end_) return;
  decoder_->ended(trace::Side::kFar);
  end_ = reset;
}

void Hearing::take(const trace::Frame& frame) {
  if (frame.from == trace::Side::kNear) return;
  Heard heard{.octets = Octets(frame.octets.begin(), frame.octets.end()), .why = {}};
  switch (frame.kind) {
    case trace::FrameKind::kStartup:
      heard.kind = Heard::Kind::kStartup;
      heard.startup = frame.startup;
      break;
    case trace::FrameKind::kFpdu:
      heard.kind = Heard::Kind::kSegment;
      heard.segment = to_segment(frame);
      break;
    case trace::FrameKind::kUndecodable:
      heard.kind = Heard::Kind::kGarbage;
      heard.why = frame.why;
      break;
  }
  heard_.push_back(std::move(heard));
}

std::optional<Heard> Hearing::next() {
  if (!heard_.empty()) {
    Heard first = std::move(heard_.front());
    heard_.pop_front();
    return first;
  }
  if (!end_) return std::nullopt;
  return Heard{.kind = *end_ ? Heard::Kind::kReset : Heard::Kind::kClosed, .octets = {}, .why = {}};
}

}  // namespace iwarp::apps::conform
