// SPDX-License-Identifier: Apache-2.0
// Converts the trace decoder's frames to the events that a case checks.
#include "conform/script/peer_reader.hpp"

#include <fmt/format.h>

namespace iwarp::apps::conform {
namespace {

std::string describe(const Segment& s) {
  if (s.is(rdmap::Opcode::kTerminate)) return describe(read_terminate(s));
  const auto* row = rdmap::find_opcode(s.opcode());
  std::string text = row != nullptr ? std::string(row->name)
                                    : fmt::format("a message (opcode 0x{:x})", s.opcode());
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

ReceivedTerminate read_terminate(const Segment& segment) {
  ReceivedTerminate received{.segment = segment, .terminate = {}};
  const auto decoded = rdmap::decode_terminate(segment.payload());
  if (!decoded) return received;
  received.terminate = *decoded;
  const auto first = std::to_integer<unsigned>(segment.payload()[0]);
  const bool flags_high = (segment.payload()[2] & std::byte{0x1F}) == std::byte{0};
  received.standard_layout = flags_high &&
                             first >> 4 == static_cast<unsigned>(decoded->fault.layer) &&
                             (first & 0x0F) == decoded->fault.type;
  return received;
}

bool reports(const ReceivedTerminate& terminate, const bytes::Fault& fault) {
  const auto& observed = terminate.terminate.fault;
  if (observed == fault) return true;
  const auto payload = terminate.segment.payload();
  if (payload.size() < 4 || payload[2] != std::byte{0}) return false;
  return static_cast<unsigned>(observed.layer) == fault.type &&
         observed.type == static_cast<unsigned>(fault.layer) && observed.code == fault.code;
}

std::string describe(const ReceivedTerminate& t) {
  return fmt::format("Terminate {}{}", bytes::to_string(t.terminate.fault),
                     t.standard_layout ? "" : " (wrong layout of the Terminate Control field)");
}

std::string describe(const Received& received) {
  switch (received.kind) {
    case Received::Kind::kStartup:
      return received.startup->kind == mpa::FrameKind::kRequest ? "an MPA Request" : "an MPA Reply";
    case Received::Kind::kSegment:
      return describe(*received.segment);
    case Received::Kind::kGarbage:
      return fmt::format("{} octets that are not a valid frame: {}", received.octets.size(),
                         received.why);
    case Received::Kind::kClosed:
      return "TCP closed (FIN)";
    case Received::Kind::kReset:
      return "TCP reset";
    case Received::Kind::kNothing:
      return "nothing within the time limit";
  }
  return "?";
}

PeerReader::PeerReader() { restart(); }

void PeerReader::restart() {
  received_.clear();
  end_.reset();
  decoder_ = std::make_unique<trace::StreamDecoder>([this](const trace::Frame& f) { take(f); });
}

void PeerReader::said(const mpa::StartupFrame& frame) {
  Octets octets(mpa::startup_frame_size(frame.private_data.size()));
  bytes::Writer writer(octets);
  mpa::encode(frame, writer);
  decoder_->octets(trace::Side::kNear, octets);
}

void PeerReader::octets(bytes::View octets) { decoder_->octets(trace::Side::kFar, octets); }

void PeerReader::ended(bool reset) {
  if (end_) return;
  decoder_->ended(trace::Side::kFar);
  end_ = reset;
}

void PeerReader::take(const trace::Frame& frame) {
  if (frame.from == trace::Side::kNear) return;
  Received received{.octets = Octets(frame.octets.begin(), frame.octets.end()), .why = {}};
  switch (frame.kind) {
    case trace::FrameKind::kStartup:
      received.kind = Received::Kind::kStartup;
      received.startup = frame.startup;
      break;
    case trace::FrameKind::kFpdu:
      received.kind = Received::Kind::kSegment;
      received.segment = to_segment(frame);
      break;
    case trace::FrameKind::kUndecodable:
      received.kind = Received::Kind::kGarbage;
      received.why = frame.why;
      break;
  }
  received_.push_back(std::move(received));
}

std::optional<Received> PeerReader::next() {
  if (!received_.empty()) {
    Received first = std::move(received_.front());
    received_.pop_front();
    return first;
  }
  if (!end_) return std::nullopt;
  return Received{
      .kind = *end_ ? Received::Kind::kReset : Received::Kind::kClosed, .octets = {}, .why = {}};
}

}  // namespace iwarp::apps::conform
