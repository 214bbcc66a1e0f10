// SPDX-License-Identifier: Apache-2.0
// Finds the frames in both streams of a connection (RFC 5044 sections 4 and 7.1).
// Frame boundaries come from the length chain. They are given up where an FPDU contradicts itself
// so badly that its ULPDU_Length cannot be believed; see boundary_lost().
#include "iwarp/trace/stream_decoder.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::trace {
namespace {

using bytes::View;

constexpr const char* kBoundariesLost = "no FPDU begins here: frame boundaries are lost";

constexpr bool marker_at(std::uint64_t position) { return position % mpa::kMarkerInterval == 0; }

/// True when these octets may well be a DDP segment with an RDMAP message.
bool looks_like_segment(View ulpdu) {
  const auto header = ddp::decode_segment_header(ulpdu);
  return header && header->version == ddp::kDdpVersion &&
         (header->rsvd_ulp & rdmap::kVersionMask) == rdmap::kVersion;
}

/// The same, told from the two control octets alone. No marker ever comes between them and
/// ULPDU_Length.
bool looks_like_control(View octets) {
  return (std::to_integer<unsigned>(octets[0]) & 0x03) == ddp::kDdpVersion &&
         (std::to_integer<unsigned>(octets[1]) & rdmap::kVersionMask) == rdmap::kVersion;
}

/// A wrong CRC alone is most likely a flipped payload bit. With nothing else right either, or with
/// markers that point elsewhere and no CRC in their favour, the length is not one.
bool boundary_lost(const Frame& frame) {
  switch (frame.crc) {
    case CrcVerdict::kGood:
      return false;
    case CrcVerdict::kBad:
      return !frame.markers_agree || !looks_like_segment(frame.ulpdu);
    case CrcVerdict::kNotUsed:
      return !frame.markers_agree;
  }
  return true;
}

}  // namespace

StreamDecoder::StreamDecoder(Listener listener) : listener_(std::move(listener)) {}

void StreamDecoder::octets(Side from, View octets) {
  Direction& d = direction(from);
  const bool knew = d.said.has_value() || d.phase == Phase::kLost;
  d.held.insert(d.held.end(), octets.begin(), octets.end());
  advance(from);
  const bool knows = d.said.has_value() || d.phase == Phase::kLost;
  if (knows && !knew) advance(other(from));  // It may have waited for just that.
}

void StreamDecoder::ended(Side from) {
  lose(from, "the stream ended inside a frame");
  advance(from);
  if (!direction(from).said) advance(other(from));
}

void StreamDecoder::advance(Side side) {
  Direction& d = direction(side);
  while (d.begin < d.held.size() && step(side)) {
  }
  d.held.erase(d.held.begin(), d.held.begin() + static_cast<std::ptrdiff_t>(d.begin));
  d.begin = 0;
}

/// Takes one frame off the held octets; false: more octets are needed, of either side.
bool StreamDecoder::step(Side side) {
  Direction& d = direction(side);
  const View in = View(d.held).subspan(d.begin);
  switch (d.phase) {
    case Phase::kStartup:
      return step_startup(side, in);
    case Phase::kFpdus:
      return step_fpdus(side, in);
    case Phase::kLost: {
      Frame frame{.from = side, .kind = FrameKind::kUndecodable, .octets = in, .why = d.why};
      emit(side, frame);
      return true;
    }
  }
  return false;
}

bool StreamDecoder::step_startup(Side side, View in) {
  for (const auto kind : {mpa::FrameKind::kRequest, mpa::FrameKind::kReply}) {
    const auto decoded = mpa::decode_startup_frame(kind, in);
    if (!decoded) continue;
    const auto* startup = std::get_if<mpa::StartupFrame>(&*decoded);
    if (startup == nullptr) return false;
    Frame frame{.from = side,
                .kind = FrameKind::kStartup,
                .octets = in.first(mpa::startup_frame_size(startup->private_data.size())),
                .startup = *startup};
    emit(side, frame);
    learn(side, frame.startup);
    return true;
  }
  return lose(side, "no MPA Request or Reply");
}

void StreamDecoder::learn(Side side, const mpa::StartupFrame& frame) {
  Direction& d = direction(side);
  d.phase = Phase::kFpdus;
  d.said = Said{.kind = frame.kind, .markers = frame.markers, .crc = frame.crc};
  const auto& peer = direction(other(side)).said;
  if (peer && peer->kind == frame.kind) {
    lose(side, "both ends sent the same kind of MPA frame");
    lose(other(side), "both ends sent the same kind of MPA frame");
  } else if (frame.kind == mpa::FrameKind::kReply && frame.rejected) {
    // Back to whatever the ULP does with a plain TCP stream.
    lose(side, "the connection was rejected");
    lose(other(side), "the connection was rejected");
  }
}

bool StreamDecoder::step_fpdus(Side side, View in) {
  const Direction& peer = direction(other(side));
  if (peer.said) return step_fpdu(side, in);
  if (peer.phase == Phase::kLost) return lose(side, "the other end did not start MPA");
  if (in.size() > kMaxHeld) return lose(side, "the other end sends no MPA frame");
  return false;
}

bool StreamDecoder::step_fpdu(Side side, View in) {
  Direction& d = direction(side);
  const Said& peer = *direction(other(side)).said;
  // M is a wish of the receiver, for each direction by itself; C binds both. [MPA-70] [MPA-72]
  Frame frame{
      .from = side, .kind = FrameKind::kFpdu, .position = d.position, .marked = peer.markers};
  const bool crc_used = peer.crc || d.said->crc;
  const std::size_t lead = frame.marked && marker_at(d.position) ? mpa::kMarkerSize : 0;
  if (in.size() < lead + mpa::kLengthFieldSize) return false;
  // The length of a damaged FPDU may have been wrong. Then the next length is payload, and waiting
  // for as much would hide what follows.
  const View control = in.subspan(lead + mpa::kLengthFieldSize);
  if (d.doubtful && control.size() >= 2 && !looks_like_control(control)) {
    return lose(side, kBoundariesLost);
  }
  const std::size_t ulpdu_length = bytes::load_be<std::uint16_t>(in.data() + lead);
  std::size_t size = mpa::fpdu_size(ulpdu_length);
  if (frame.marked) size += mpa::kMarkerSize * mpa::markers_within(d.position, size);
  if (in.size() < size) return false;

  frame.octets = in.first(size);
  frame.crc_field = mpa::load_crc(frame.octets.last(mpa::kCrcSize).data());
  if (crc_used) {
    const bool good = crc32c::compute(frame.octets.first(size - mpa::kCrcSize)) == frame.crc_field;
    frame.crc = good ? CrcVerdict::kGood : CrcVerdict::kBad;
  }
  frame.markers_agree = unmark(frame, ulpdu_length);
  if (boundary_lost(frame)) return lose(side, kBoundariesLost);
  d.doubtful = frame.crc == CrcVerdict::kBad;
  emit(side, frame);
  return true;
}

/// Sets frame.ulpdu and the markers; true when every marker points at the length field. [MPA-27]
bool StreamDecoder::unmark(Frame& frame, std::size_t ulpdu_length) {
  if (!frame.marked) {
    frame.ulpdu = frame.octets.subspan(mpa::kLengthFieldSize, ulpdu_length);
    return true;
  }
  unmarked_.clear();
  bool agree = true;
  const std::size_t lead = marker_at(frame.position) ? mpa::kMarkerSize : 0;
  std::size_t at = 0;
  while (at < frame.octets.size()) {
    const std::uint64_t position = frame.position + at;
    if (marker_at(position)) {
      const auto fpduptr = bytes::load_be<std::uint16_t>(frame.octets.data() + at + 2);
      frame.fpduptrs.push_back(fpduptr);
      // The leading marker points at nothing; the low two bits are no part of it. [MPA-23] [MPA-28]
      const std::size_t expected = at == 0 ? 0 : at - lead;
      agree = agree && (fpduptr & 0xFFFCU) == expected;
      at += mpa::kMarkerSize;
    } else {
      const std::size_t to_marker = mpa::kMarkerInterval - position % mpa::kMarkerInterval;
      const View piece = frame.octets.subspan(at, std::min(to_marker, frame.octets.size() - at));
      unmarked_.insert(unmarked_.end(), piece.begin(), piece.end());
      at += piece.size();
    }
  }
  frame.ulpdu = View(unmarked_).subspan(mpa::kLengthFieldSize, ulpdu_length);
  return agree;
}

/// From the octets held on, nothing is decoded any more. The first reason stays.
bool StreamDecoder::lose(Side side, const char* why) {
  Direction& d = direction(side);
  if (d.phase == Phase::kLost) return true;
  d.phase = Phase::kLost;
  d.why = why;
  return true;
}

void StreamDecoder::emit(Side side, Frame& frame) {
  Direction& d = direction(side);
  frame.offset = d.offset;
  listener_(frame);
  d.begin += frame.octets.size();
  d.offset += frame.octets.size();
  if (frame.kind == FrameKind::kFpdu) d.position += frame.octets.size();
}

}  // namespace iwarp::trace
