// SPDX-License-Identifier: Apache-2.0
// Finds the frames in both streams of a connection (RFC 5044 sections 4 and 7.1). The length of
// each frame determines where the next frame begins. If an FPDU is so inconsistent that its
// ULPDU_Length may be wrong (see boundary_lost()), the decoder does not rely on that length. If
// some octets of an FPDU are missing, the decoder continues after the FPDU, provided that it has
// seen ULPDU_Length.
#include "iwarp/trace/stream_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>
#include <variant>

#include "boundary_search.hpp"
#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::trace {
namespace {

using bytes::View;

constexpr const char* kBoundariesLost = "no FPDU begins here: frame boundaries are lost";
constexpr const char* kNotSeen = "the length of the FPDU was not captured";
constexpr std::array<std::byte, 4096> kZeros{};

/// Returns whether `octets` are likely the two control octets of a DDP segment with an RDMAP
/// message. There is never a marker between ULPDU_Length and the control octets.
bool looks_like_control(View octets) {
  return (std::to_integer<unsigned>(octets[0]) & 0x03) == ddp::kDdpVersion &&
         (std::to_integer<unsigned>(octets[1]) & rdmap::kVersionMask) == rdmap::kVersion;
}

/// Returns the position at which the next FPDU begins, as the sender counts positions.
std::uint64_t position_behind(const Frame& frame) {
  const std::size_t uncounted = frame.markers_late != 0 ? mpa::kCrcSize : 0;
  return frame.position + frame.octets.size() - uncounted;
}

/// Returns whether the FPDU begins with a valid header, and the octets `behind`, which were
/// received after the FPDU, begin with another valid header or are too few to tell.
bool starts_right(const Frame& frame, View behind) {
  const std::size_t lead = mpa::leading_marker_size(frame.position, frame.marked);
  if (!starts_like_fpdu(frame.octets, lead)) return false;
  const std::size_t next = mpa::leading_marker_size(position_behind(frame), frame.marked);
  return behind.size() < next + kFpduStartSize || starts_like_fpdu(behind, next);
}

/// Returns whether the frame is certainly an FPDU: its CRC is correct, or it has a marker that
/// contains the correct distance from ULPDU_Length.
bool is_proven(const Frame& frame) {
  return frame.crc == CrcVerdict::kGood ||
         (frame.markers_agree &&
          std::ranges::any_of(frame.fpduptrs, [](auto p) { return p != 0; }));
}

/// Returns whether the length of an FPDU may be wrong. If only the CRC is wrong, most likely a bit
/// of the payload has changed. So the decoder trusts the length unless a marker or the header is
/// wrong as well. If CRCs are off and markers are wrong, the decoder attributes the markers to a
/// fault of the sender, and trusts the length if it leads to another header.
bool boundary_lost(const Frame& frame, View behind) {
  switch (frame.crc) {
    case CrcVerdict::kGood:
      return false;
    case CrcVerdict::kBad:
      return !frame.markers_agree || !ddp::decode_segment_header(frame.ulpdu) ||
             !looks_like_control(frame.ulpdu);
    case CrcVerdict::kNotUsed:
    case CrcVerdict::kUnknown:
      return !frame.markers_agree && !starts_right(frame, behind);
  }
  return true;
}

/// Number of octets that must confirm a guessed format. In less than one marker interval, there may
/// be no marker even if the stream has markers.
constexpr std::uint64_t kProof = mpa::kMarkerInterval;

/// Considers the `size` octets that begin at `offset`. Returns how many of them come before the
/// first octet that was not seen.
template <typename Holes>
std::size_t seen_of(const Holes& holes, std::uint64_t offset, std::size_t size) {
  for (const auto& hole : holes) {
    if (hole.end <= offset) continue;
    if (hole.begin <= offset) return 0;
    return static_cast<std::size_t>(std::min<std::uint64_t>(hole.begin - offset, size));
  }
  return size;
}

/// Returns how many of the `size` octets that begin at `offset` were not seen.
template <typename Holes>
std::uint64_t missing_of(const Holes& holes, std::uint64_t offset, std::size_t size) {
  std::uint64_t sum = 0;
  for (const auto& hole : holes) {
    const auto begin = std::max(hole.begin, offset);
    const auto end = std::min(hole.end, offset + size);
    if (begin < end) sum += end - begin;
  }
  return sum;
}

}  // namespace

StreamDecoder::StreamDecoder(Listener listener, const DecoderOptions& options)
    : listener_(std::move(listener)), options_(options) {}
StreamDecoder::~StreamDecoder() = default;

void StreamDecoder::octets(Side from, View octets) {
  Direction& d = direction(from);
  const bool knew = d.said.has_value() || d.phase == Phase::kLost;
  advance(from, octets);
  const bool knows = d.said.has_value() || d.phase == Phase::kLost;
  // FPDUs of the other end may have waited for this startup frame.
  if (knows && !knew) advance(other(from), {});
}

void StreamDecoder::missing(Side from, std::uint64_t count) {
  Direction& d = direction(from);
  while (count > 0) {
    const bool given_up = d.phase == Phase::kSearch || d.phase == Phase::kLost;
    if (given_up && d.held.empty()) {
      Frame frame{.from = from, .missing = count, .why = d.why};
      emit(from, frame);
      return;
    }
    const auto zeros = std::min<std::uint64_t>(count, kZeros.size());
    const std::uint64_t begin = d.offset + d.held.size();
    if (!d.holes.empty() && d.holes.back().end == begin) {
      d.holes.back().end += zeros;
    } else {
      d.holes.push_back({begin, begin + zeros});
    }
    octets(from, View(kZeros).first(static_cast<std::size_t>(zeros)));
    count -= zeros;
  }
}

void StreamDecoder::ended(Side from) {
  Direction& d = direction(from);
  if (d.ended) return;
  d.ended = true;
  // Reports an FPDU that is complete, and that the decoder held only to see the FPDU after it.
  advance(from, {});
  constexpr const char* kEnded = "the stream ended inside a frame";
  do {
    // If the format is known, the first FPDU is incomplete: search for other FPDUs after its first
    // octet. If the format is not known, the FPDUs have waited for the peer's startup frame: search
    // from their first octet.
    if (d.phase == Phase::kFpdus && d.format) {
      refuse(from, kEnded);
    } else {
      lose(from, kEnded);
    }
    advance(from, {});
  } while (!d.held.empty());
  lose(from, d.why, true);
  if (!d.said) advance(other(from), {});
}

void StreamDecoder::advance(Side side, View fresh) {
  Direction& d = direction(side);
  const bool direct = d.held.empty();
  if (!direct) d.held.insert(d.held.end(), fresh.begin(), fresh.end());
  d.input = direct ? fresh : View(d.held);
  d.begin = 0;
  unsigned turns = 0;
  while (d.begin < d.input.size()) {
    const std::size_t before = d.begin;
    if (!step(side)) break;
    turns = d.begin > before ? 0 : turns + 1;
    assert(turns <= kMaxTurns);
  }
  if (direct) {
    const View rest = d.input.subspan(d.begin);
    d.held.assign(rest.begin(), rest.end());
  } else {
    d.held.erase(d.held.begin(), d.held.begin() + static_cast<std::ptrdiff_t>(d.begin));
  }
}

/// Reports one frame of the input, or enters another phase. Returns false if the decoder needs more
/// octets of either side. The loop of the caller always ends: an FPDU that a search has found is
/// either reported or refused, and after a refused FPDU, the next search begins after the first
/// octet of that FPDU.
bool StreamDecoder::step(Side side) {
  Direction& d = direction(side);
  const View in = d.input.subspan(d.begin);
  switch (d.phase) {
    case Phase::kStartup:
      return step_startup(side, in);
    case Phase::kFpdus:
      return step_fpdus(side, in);
    case Phase::kSearch:
      return step_search(side, in);
    case Phase::kLost:
      return give_up(side, in);
  }
  return false;
}

/// Reports octets that are in no frame. One report contains either octets that were seen or octets
/// that were not.
bool StreamDecoder::give_up(Side side, View octets) {
  Direction& d = direction(side);
  Frame frame{.from = side, .why = d.why};
  const std::size_t seen = seen_of(d.holes, d.offset, octets.size());
  if (seen > 0) {
    frame.octets = octets.first(seen);
    d.searched += seen;
  } else {
    frame.missing = std::min<std::uint64_t>(d.holes.front().end - d.offset, octets.size());
    d.begin += static_cast<std::size_t>(frame.missing);
  }
  emit(side, frame);
  return true;
}

bool StreamDecoder::step_search(Side side, View in) {
  Direction& d = direction(side);
  if (!found_ && d.searched >= kMaxSearched) return lose(side, "no MPA frame was found", true);
  const std::size_t seen = seen_of(d.holes, d.offset, in.size());
  if (seen == 0) return give_up(side, in);
  BoundarySearch::Hints hints{.marked = {},
                              .crc = {},
                              .position = {},
                              .startup = !d.said,
                              .from = d.offset < d.refused ? std::size_t{1} : 0};
  if (d.format && !d.format->guessed) {
    hints.marked = d.format->marked;
    hints.crc = d.format->crc;
    if (d.position_known) hints.position = d.position;
  } else if (d.said && d.said->crc) {
    hints.crc = true;
  }
  if (!d.search) d.search = std::make_unique<BoundarySearch>();
  const auto found = d.search->find(in.first(seen), hints, d.ended || seen < in.size());
  if (found.at > 0) give_up(side, in.first(found.at));
  using Kind = Boundary::Kind;
  if (found.kind == Kind::kStartup) d.phase = Phase::kStartup;
  if (found.kind == Kind::kFpdu) {
    if (!d.format || d.format->guessed) {
      d.format = Format{.marked = found.marked, .crc = found.crc, .guessed = true};
      d.position = found.position;
    }
    d.phase = Phase::kFpdus;
    d.doubtful = false;
    d.unsure = !found.crc;
    if (d.unsure) d.format->proof = 0;
  }
  return found.at > 0 || found.kind == Kind::kFpdu || found.kind == Kind::kStartup;
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
    frame.missing = missing_of(direction(side).holes, direction(side).offset, frame.octets.size());
    emit(side, frame);
    learn(side, frame.startup);
    return true;
  }
  return lose(side, "not an MPA Request or Reply");
}

void StreamDecoder::learn(Side side, const mpa::StartupFrame& frame) {
  Direction& d = direction(side);
  d.phase = Phase::kFpdus;
  d.said = Said{.kind = frame.kind, .markers = frame.markers, .crc = frame.crc};
  d.format.reset();
  d.position = 0;
  d.position_known = true;
  d.fpdus = 0;
  d.unsure = false;
  const auto& peer = direction(other(side)).said;
  const bool same = peer && peer->kind == frame.kind;
  // After a rejection, the upper layer may use the TCP stream without MPA.
  const bool rejected = frame.kind == mpa::FrameKind::kReply && frame.rejected;
  if (!same && !rejected) return;
  const char* why =
      same ? "both ends sent the same kind of MPA frame" : "the connection was rejected";
  for (const Side lost : {side, other(side)}) lose(lost, why, true);
}

bool StreamDecoder::step_fpdus(Side side, View in) {
  Direction& d = direction(side);
  if (d.format) return step_fpdu(side, in);
  const Direction& peer = direction(other(side));
  if (peer.said) {
    // In each direction, the receiver's M flag determines whether there are markers. The C flag of
    // either end enables CRCs in both directions. [MPA-70] [MPA-72]
    d.format = Format{
        .marked = peer.said->markers, .crc = peer.said->crc || d.said->crc, .guessed = false};
    return step_fpdu(side, in);
  }
  if (peer.phase == Phase::kLost) return lose(side, "the other end did not start MPA");
  if (in.size() > kMaxHeld) return lose(side, "the other end has sent no MPA frame");
  return false;
}

bool StreamDecoder::step_fpdu(Side side, View in) {
  Direction& d = direction(side);
  Frame frame{.from = side,
              .kind = FrameKind::kFpdu,
              .position = d.position,
              .markers_late = d.crcs_uncounted ? mpa::kCrcSize * d.fpdus : 0,
              .marked = d.format->marked,
              .guessed = d.format->guessed};
  const std::size_t lead = mpa::leading_marker_size(d.position, frame.marked);
  if (in.size() < lead + mpa::kLengthFieldSize) return false;
  const std::size_t seen = seen_of(d.holes, d.offset, in.size());
  if (seen < std::min(in.size(), lead + mpa::kLengthFieldSize + 2)) return refuse(side, kNotSeen);
  // The length of the previous, damaged FPDU may have been wrong. If it was, the present length is
  // part of a payload, and waiting for that number of octets would delay the frames that follow.
  const View control = in.subspan(lead + mpa::kLengthFieldSize);
  if (d.doubtful && control.size() >= 2 && !looks_like_control(control)) {
    return refuse(side, kBoundariesLost);
  }
  frame.ulpdu_length = bytes::load_be<std::uint16_t>(in.data() + lead);
  const mpa::FpduLayout layout(d.position, frame.marked, frame.ulpdu_length);
  if (in.size() < layout.wire_size()) return false;
  frame.octets = in.first(layout.wire_size());
  see(frame, d, layout);
  if (frame.marked && (!frame.markers_agree || !starts_like_fpdu(in, lead))) {
    const auto late = find_late_markers(d, in);
    if (late == Late::kYes) return true;
    if (late == Late::kPerhaps && !d.ended) return false;
  }
  if (frame.crc == CrcVerdict::kGood) d.format->proof += frame.octets.size();
  const bool misguessed =
      frame.guessed && frame.crc == CrcVerdict::kBad && d.format->proof < kProof;
  if (misguessed) {  // Drop the guess: the search may find this FPDU with another format.
    d.format.reset();
    return lose(side, kBoundariesLost);
  }
  const View behind = in.subspan(frame.octets.size());
  if (boundary_lost(frame, behind)) return refuse(side, kBoundariesLost);
  if (d.unsure && !is_proven(frame)) {
    frame.unsure = true;
    const bool header = frame.missing != 0 || plausible_header(frame.ulpdu);
    if (!header || !starts_right(frame, behind)) return refuse(side, kBoundariesLost);
    // Wait for the header of the next FPDU. If the stream has markers that the decoder has not
    // noticed, the next FPDU does not begin directly after this one.
    const bool next_is_seen = behind.size() >= mpa::kMarkerSize + kFpduStartSize;
    if (d.format->proof < kProof && !next_is_seen && !d.ended) return false;
    d.format->proof += frame.octets.size();
  } else {
    d.unsure = false;
  }
  // The length field of a damaged FPDU may be wrong, too. If it is correct, the octets after this
  // FPDU look like the header of the next FPDU.
  const bool next_is_seen = options_.search && behind.size() >= mpa::kLengthFieldSize + 2 &&
                            !frame.marked && seen == in.size();
  if (frame.crc == CrcVerdict::kBad && next_is_seen &&
      !looks_like_control(behind.subspan(mpa::kLengthFieldSize))) {
    return refuse(side, kBoundariesLost);
  }
  d.doubtful = frame.crc == CrcVerdict::kBad || frame.crc == CrcVerdict::kUnknown;
  emit(side, frame);
  return true;
}

/// Deviation: if CRCs are off, the software that made Wireshark's sample captures sends CRC fields
/// but does not count them when it places markers. So each FPDU moves the markers 4 octets further
/// from their correct places. Returns whether `in` comes from such a sender: the next markers, at
/// the places that such a sender would use, contain the correct FPDUPTR in either byte order.
/// [MPA-25]
StreamDecoder::Late StreamDecoder::find_late_markers(Direction& d, View in) {
  if (d.crcs_uncounted || d.format->guessed || d.format->crc) return Late::kNo;
  // Each FPDU delays the markers of such a sender by kCrcSize octets. If the delay of all FPDUs so
  // far is a multiple of kMarkerInterval, the markers are in the correct places.
  if (mpa::kCrcSize * d.fpdus % mpa::kMarkerInterval == 0) return Late::kNo;
  const std::uint64_t begin = d.position - mpa::kCrcSize * d.fpdus;
  auto position = begin;
  const std::size_t seen = seen_of(d.holes, d.offset, in.size());
  View rest = in.first(seen);
  const Late short_of_octets = seen < in.size() ? Late::kNo : Late::kPerhaps;
  mpa::FpduLayout layout;
  for (;;) {
    const std::size_t lead = mpa::leading_marker_size(position, true);
    if (rest.size() < lead + kFpduStartSize) return short_of_octets;
    if (!starts_like_fpdu(rest, lead)) return Late::kNo;
    layout = {position, true, bytes::load_be<std::uint16_t>(rest.data() + lead)};
    if (rest.size() < layout.wire_size()) return short_of_octets;
    if (layout.marker_count() != 0) break;
    rest = rest.subspan(layout.wire_size());
    position += layout.wire_size() - mpa::kCrcSize;
  }
  for (std::size_t i = 0; i < layout.marker_count(); ++i) {
    const auto says = bytes::load_be<std::uint16_t>(rest.data() + layout.marker_offset(i) + 2);
    const auto due = layout.fpduptr(i);
    if (says != due && says != std::byteswap(due)) return Late::kNo;
  }
  d.position = begin;
  d.crcs_uncounted = true;
  return Late::kYes;
}

/// Sets the members of `frame` that depend on its octets. Removes the markers, and checks the
/// markers and the CRC if their octets were seen.
void StreamDecoder::see(Frame& frame, const Direction& d, const mpa::FpduLayout& layout) {
  const std::size_t size = frame.octets.size();
  const std::size_t seen = seen_of(d.holes, d.offset, size);
  if (seen < size) frame.missing = missing_of(d.holes, d.offset, size);
  frame.crc_field = mpa::load_crc(frame.octets.data() + layout.crc_offset());
  if (frame.missing != 0) {
    frame.crc = CrcVerdict::kUnknown;
  } else if (d.format->crc) {
    frame.crc_computed = crc32c::compute(frame.octets.first(layout.crc_offset()));
    frame.crc = frame.crc_computed == frame.crc_field ? CrcVerdict::kGood : CrcVerdict::kBad;
  }
  View unmarked = frame.octets.first(seen);
  if (frame.marked) {
    unmarked_.clear();
    layout.walk(0, seen, [&](const mpa::FpduLayout::Run& run) {
      const View piece = frame.octets.subspan(run.offset, run.size);
      if (!run.marker) {
        unmarked_.insert(unmarked_.end(), piece.begin(), piece.end());
      } else if (run.size == mpa::kMarkerSize) {
        // Every marker points at ULPDU_Length; the low two bits are not part of the pointer.
        // [MPA-23] [MPA-27]
        const auto fpduptr = bytes::load_be<std::uint16_t>(piece.data() + 2);
        frame.fpduptrs.push_back(fpduptr);
        const auto due = layout.fpduptr(run.marker_index);
        if (frame.markers_agree && (fpduptr & 0xFFFCU) != due) {
          frame.markers_agree = false;
          frame.wrong_marker = run.offset;
          frame.due_fpduptr = due;
        }
      }
    });
    unmarked = unmarked_;
  }
  unmarked = unmarked.subspan(mpa::kLengthFieldSize);
  frame.ulpdu = unmarked.first(std::min(unmarked.size(), frame.ulpdu_length));
}

/// Does the same as lose(), and makes the search begin after the current octet.
bool StreamDecoder::refuse(Side side, const char* why) {
  direction(side).refused = direction(side).offset + 1;
  return lose(side, why);
}

/// Call if no frame begins at the current octet. Starts a search for the next frame. If
/// DecoderOptions::search is false or `permanently` is true, gives the stream up instead. During a
/// search, keeps the first reason `why`.
bool StreamDecoder::lose(Side side, const char* why, bool permanently) {
  Direction& d = direction(side);
  const Phase phase = options_.search && !permanently ? Phase::kSearch : Phase::kLost;
  if (d.phase == Phase::kLost || d.phase == phase) return true;
  if (d.phase != Phase::kSearch) d.why = why;
  d.phase = phase;
  // The sender's count of octets is no longer known, so the places of markers must be guessed.
  if (std::exchange(d.crcs_uncounted, false)) d.format->guessed = true;
  return true;
}

void StreamDecoder::emit(Side side, Frame& frame) {
  Direction& d = direction(side);
  frame.offset = d.offset;
  const bool is_frame = frame.kind != FrameKind::kUndecodable;
  found_ = found_ || is_frame;
  listener_(frame);
  // If the octets of the frame were not seen, the frame contains only their number, which may
  // exceed the size of the input.
  const std::uint64_t size = frame.octets.empty() ? frame.missing : frame.octets.size();
  d.begin += frame.octets.size();
  d.offset += size;
  if (frame.kind == FrameKind::kUndecodable) d.position += size;
  if (frame.kind == FrameKind::kFpdu) {
    d.position = position_behind(frame);
    ++d.fpdus;
  }
  if (is_frame) d.searched = 0;
  std::erase_if(d.holes, [&d](const Hole& hole) { return hole.end <= d.offset; });
}

}  // namespace iwarp::trace
