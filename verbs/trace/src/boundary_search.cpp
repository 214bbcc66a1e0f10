// SPDX-License-Identifier: Apache-2.0
// Checks for each octet whether a frame begins there. A check of the two control octets of DDP and
// RDMAP rules out almost all places.
#include "boundary_search.hpp"

#include <algorithm>
#include <variant>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/layout.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::trace {
namespace {

using bytes::View;

constexpr std::size_t kControl = mpa::kLengthFieldSize;  ///< offset of DDP's control octets
/// If CRCs are off, the search accepts this number of headers in a row as proof that an FPDU
/// begins.
constexpr std::size_t kRun = 4;
/// The search may compute CRCs over kFreeWork octets in all, and over kWorkPerOctet more octets for
/// each octet at which it has looked for a frame.
constexpr std::uint64_t kWorkPerOctet = 32;
constexpr std::uint64_t kFreeWork = 512 * 1024;

std::size_t lead_of(const std::optional<std::uint64_t>& position) {
  return mpa::leading_marker_size(position.value_or(0), position.has_value());
}

/// Returns whether the control octets are valid: the versions are correct, the reserved bits are 0,
/// and the opcode belongs to the model, tagged or untagged, that the DDP octet selects.
bool plausible_control(View control) {
  constexpr unsigned kReservedAndVersion = 0x3F;
  const auto ddp_octet = std::to_integer<unsigned>(control[0]);
  const auto rdmap_octet = std::to_integer<std::uint8_t>(control[1]);
  const auto* row = rdmap::find_opcode(static_cast<std::uint8_t>(rdmap_octet & 0x3F));
  return (ddp_octet & kReservedAndVersion) == ddp::kDdpVersion &&
         (rdmap_octet & rdmap::kVersionMask) == rdmap::kVersion && row != nullptr &&
         row->tagged == ((ddp_octet & ddp::wire::kTaggedFlag) != 0);
}

std::size_t ulpdu_length(View in, std::size_t lead) {
  return bytes::load_be<std::uint16_t>(in.data() + lead);
}

/// Returns whether a startup frame begins at the first octet, or nullopt if that depends on octets
/// after `in`.
std::optional<bool> starts_startup(View in) {
  for (const auto kind : {mpa::FrameKind::kRequest, mpa::FrameKind::kReply}) {
    const auto decoded = mpa::decode_startup_frame(kind, in);
    if (!decoded) continue;
    if (std::holds_alternative<mpa::StartupFrame>(*decoded)) return true;
    return std::nullopt;
  }
  return false;
}

}  // namespace

bool starts_like_fpdu(View in, std::size_t lead) {
  const View control = in.subspan(lead + kControl, 2);
  return plausible_control(control) && ulpdu_length(in, lead) >= ddp::header_size(control);
}

bool plausible_header(View ulpdu) {
  const auto header = ddp::decode_segment_header(ulpdu);
  if (!header || !plausible_control(ulpdu.first(2))) return false;
  return header->tagged || header->qn == rdmap::find_opcode(*header)->qn;
}

bool BoundarySearch::can_afford(std::size_t octets) {
  if (work_ > kFreeWork + kWorkPerOctet * searched_) return false;
  work_ += octets;
  return true;
}

Boundary BoundarySearch::find(View in, const Hints& hints, bool last) {
  using Kind = Boundary::Kind;
  Boundary found;
  for (std::size_t at = hints.from; at < in.size(); ++at, ++searched_) {
    const View rest = in.subspan(at);
    found = {.kind = Kind::kFpdu, .at = at};
    if (hints.startup && rest[0] == std::byte{'M'}) {
      const auto startup = starts_startup(rest);
      if (startup == true) return {.kind = Kind::kStartup, .at = at};
      if (!startup && !last) return {.kind = Kind::kMore, .at = at};
    }
    // Counted from the end of startup, every FPDU begins at a multiple of 4 octets, so no FPDU
    // begins anywhere else.
    if (hints.position && (*hints.position + at) % 4 != 0) continue;
    auto trial = Trial::kNo;
    if (hints.marked != true) {
      trial = try_fpdu(rest, {.position = {}, .crc_used = hints.crc}, last, found);
    }
    if (hints.marked != false && trial != Trial::kYes) {
      const auto marked =
          hints.position ? try_fpdu(rest, {.position = *hints.position + at, .crc_used = hints.crc},
                                    last, found)
                         : try_unknown_markers(rest, hints, last, found);
      if (marked != Trial::kNo) trial = marked;
    }
    if (trial == Trial::kYes) return found;
    if (trial == Trial::kMore) return {.kind = Kind::kMore, .at = at};
  }
  return {.kind = Kind::kNone, .at = in.size()};
}

/// Determines whether an FPDU begins at the first octet if the places of markers are not known. A
/// marker contains its distance from the ULPDU_Length field. So this function looks for words in
/// the next 512 octets that contain their own distance from the first octet, and tries each of them
/// as the first marker. [MPA-27]
BoundarySearch::Trial BoundarySearch::try_unknown_markers(View in, const Hints& hints, bool last,
                                                          Boundary& found) {
  const auto marker_points = [in](std::size_t at, std::size_t distance) {
    return bytes::load_be<std::uint32_t>(in.data() + at) == distance;
  };
  if (in.size() < kFpduStartSize) return last ? Trial::kNo : Trial::kMore;
  if (marker_points(0, 0)) return try_fpdu(in, {.position = 0, .crc_used = true}, last, found);
  if (!starts_like_fpdu(in, 0)) return Trial::kNo;
  const auto size = std::min(in.size(), mpa::kMarkerInterval);
  for (std::size_t at = mpa::kMarkerSize; at + mpa::kMarkerSize <= size; at += mpa::kMarkerSize) {
    if (!marker_points(at, at)) continue;
    const Guess place{.position = mpa::kMarkerInterval - at, .crc_used = true};
    if (const auto trial = try_fpdu(in, place, last, found); trial != Trial::kNo) return trial;
  }
  return in.size() < mpa::kMarkerInterval && !last && hints.marked == true ? Trial::kMore
                                                                           : Trial::kNo;
}

BoundarySearch::Trial BoundarySearch::try_fpdu(View in, const Guess& place, bool last,
                                               Boundary& found) {
  const Trial short_of_octets = last ? Trial::kNo : Trial::kMore;
  const std::size_t lead = lead_of(place.position);
  if (in.size() < lead + kFpduStartSize) return short_of_octets;
  if (!starts_like_fpdu(in, lead)) return Trial::kNo;
  const mpa::FpduLayout layout(place.position.value_or(0), place.position.has_value(),
                               ulpdu_length(in, lead));
  const std::size_t size = layout.wire_size();
  if (in.size() < size) return short_of_octets;
  found.marked = place.position.has_value();
  found.position = place.position.value_or(0);
  if (place.crc_used == false) return try_run(in, place, last);

  // A payload may contain an FPDU with a correct CRC, but rarely a second FPDU directly after it.
  // So the search also requires the header of a second FPDU.
  const View rest = in.subspan(size);
  const auto next_position = place.position ? std::optional(*place.position + size) : std::nullopt;
  const std::size_t next_lead = lead_of(next_position);
  if (rest.size() >= next_lead + kFpduStartSize && !starts_like_fpdu(rest, next_lead))
    return Trial::kNo;
  if (!can_afford(size)) return Trial::kNo;
  const auto field = mpa::load_crc(in.data() + layout.crc_offset());
  found.crc = crc32c::compute(in.first(layout.crc_offset())) == field;
  if (found.crc) {
    const bool decided = rest.empty() || rest.size() >= next_lead + kFpduStartSize || last;
    return decided ? Trial::kYes : Trial::kMore;
  }
  return place.crc_used == true ? Trial::kNo : try_run(in, place, last);
}

/// Looks for kRun headers in a row. The ULPDU_Length of each FPDU says where the next header must
/// be.
BoundarySearch::Trial BoundarySearch::try_run(View in, const Guess& place, bool last) {
  std::uint64_t position = place.position.value_or(0);
  std::size_t at = 0;
  for (std::size_t run = 0; run < kRun; ++run) {
    const std::size_t lead = place.position ? lead_of(position) : 0;
    const View rest = in.subspan(at);
    // If the octets end exactly where an FPDU ends, that counts as one more header.
    if (rest.empty() && run + 1 >= kRun) return Trial::kYes;
    if (rest.size() < lead + kFpduStartSize) return last ? Trial::kNo : Trial::kMore;
    if (!starts_like_fpdu(rest, lead)) return Trial::kNo;
    const std::size_t length = ulpdu_length(rest, lead);
    const mpa::FpduLayout layout(position, place.position.has_value(), length);
    if (rest.size() < layout.wire_size()) return last ? Trial::kNo : Trial::kMore;
    if (!place.position && !plausible_header(rest.subspan(kControl, length))) return Trial::kNo;
    at += layout.wire_size();
    position += layout.wire_size();
  }
  return Trial::kYes;
}

}  // namespace iwarp::trace
