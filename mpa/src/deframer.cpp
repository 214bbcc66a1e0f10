// SPDX-License-Identifier: Apache-2.0
// Deframer: a linear staging area in front of the FPDU parser (RFC 5044 sections 4.1 to 4.4, 6). An
// FPDU in the staging area is always contiguous, so one CRC pass covers it. Octets are moved only
// if an FPDU would not fit behind the staged octets. plan() limits how much is read, so that such
// moves are rare. Only the chain of ULPDU_Length values determines where FPDUs begin; markers are a
// cross-check. [MPA-57] [MPA-60]
#include "iwarp/mpa/deframer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/mpa/layout.hpp"
#include "placement.hpp"

namespace iwarp::mpa {
namespace {

using bytes::Span;
using bytes::View;

/// Returns the largest number of pieces of a plan: all pieces of the target, two for each marker
/// (the marker itself, and one more because it splits a piece of the target), and the staging area.
constexpr std::size_t max_plan(std::size_t markers) { return bytes::kMaxSge + 2 * markers + 1; }

/// The progress of the current FPDU, which is the first one that is not consumed.
enum class Phase : std::uint8_t {
  kFront,    ///< ULPDU_Length has not arrived
  kStaging,  ///< ULPDU_Length is known, and the octets are collected in the staging area
  kUlpdu,    ///< the FPDU is verified, and next() has returned kUlpdu
  kPlacing,  ///< place() was called, and octets are still missing
  kPlaced,   ///< the placed FPDU is verified, and next() has returned kPlaced
  kFaulty,   ///< the FPDU broke a rule; nothing more is accepted
};

}  // namespace

struct Deframer::State {
  explicit State(const DeframerOptions& o)
      : options(o),
        capacity(std::max(o.stage, kMaxWireSize)),
        stage(std::make_unique_for_overwrite<std::byte[]>(capacity)),
        plan(max_plan(o.markers ? kMaxMarkers : 0)),
        pieces((o.markers ? kMaxMarkers : 0) + 1),
        position(o.position) {}

  View staged() const { return {stage.get() + begin, end - begin}; }
  std::size_t front_size() const;
  bool is_staged() const { return end - begin >= fpdu.wire_size(); }
  bool is_placed() const { return placement.missing() == 0 && end - begin >= trailer_size(); }
  void read_length();
  void add(Span piece);

  void plan_stage(bool read_ahead);
  void plan_placement(bool read_ahead);
  std::size_t read_ahead_limit(std::size_t small) const;
  bool last_is_small() const { return last_wire_size < options.exact_above; }
  void make_room(std::size_t wanted);

  void fill_placement(std::size_t n);
  StepOrFault finish(const Fault* wrong, Phase then, Step step);
  StepOrFault look_for_prefix();
  const Fault* verify_staged();
  const Fault* verify_placed();
  template <typename MarkerAt>
  bool markers_agree(MarkerAt marker_at) const;
  void hand_out();
  void gather_ulpdu();
  void set_prefix();
  std::size_t trailer_size() const { return fpdu.wire_size() - placement.trailer_offset(); }

  DeframerOptions options;
  std::size_t capacity;
  std::unique_ptr<std::byte[]> stage;
  /// Offset in `stage` of the current FPDU or, in kPlacing, of its trailer (PAD and CRC).
  std::size_t begin = 0;
  std::size_t end = 0;  ///< offset in `stage` just after the last octet received

  std::vector<Span> plan;     ///< never resized after construction
  std::size_t plan_size = 0;  ///< 0 if the plan has to be rebuilt
  bool planned_ahead = false;
  std::vector<View> pieces;  ///< pieces of the ULPDU; never resized after construction

  std::uint64_t position;  ///< stream position where the current FPDU begins [MPA-32]
  Phase phase = Phase::kFront;
  FpduLayout fpdu;
  bool partial_given = false;
  std::size_t want_prefix = 0;
  InHand in_hand;
  std::array<std::byte, kMaxPrefix> prefix_copy;
  Placement placement;

  /// Size of the previous FPDU; the next FPDU is expected to have the same size.
  std::size_t last_wire_size = 0;
  /// Size of the FPDU before the previous one. If only the previous FPDU was small, it may have
  /// been the end of a large message.
  std::size_t wire_size_before = 0;
  bool places = false;           ///< place() has been called before: read no payload ahead
  const Fault* fault = nullptr;  ///< in kFaulty, the rule that was broken
  DeframerCounters counters;
};

Deframer::Deframer(const DeframerOptions& options)
    : state_(std::make_unique<State>(options)), in_hand_(&state_->in_hand) {
  assert(options.position % 4 == 0);
}
Deframer::~Deframer() = default;
Deframer::Deframer(Deframer&&) noexcept = default;
Deframer& Deframer::operator=(Deframer&&) noexcept = default;

std::span<const Span> Deframer::plan(bool read_ahead) {
  State& s = *state_;
  if (s.plan_size != 0 && s.planned_ahead == read_ahead) return {s.plan.data(), s.plan_size};
  s.plan_size = 0;
  s.planned_ahead = read_ahead;
  if (s.phase == Phase::kFaulty) return {};
  if (s.phase == Phase::kPlacing) {
    s.plan_placement(read_ahead);
  } else {
    s.read_length();
    s.plan_stage(read_ahead);
  }
  return {s.plan.data(), s.plan_size};
}

// `n` may be any number, because the Deframer does not depend on where TCP cut the stream. [MPA-56]
// [MPA-117]
void Deframer::filled(std::size_t n) {
  State& s = *state_;
  s.counters.octets += n;
  if (s.phase == Phase::kPlacing) {
    s.fill_placement(n);
  } else {
    assert(n == 0 || (s.plan_size == 1 && n <= s.plan[0].size()));
    s.end += n;  // The whole plan is in the staging area.
  }
  s.plan_size = 0;
}

void Deframer::State::fill_placement(std::size_t n) {
  for (std::size_t i = 0; n > 0; ++i) {
    assert(i < plan_size);
    const View octets = plan[i].first(std::min(n, plan[i].size()));
    if (octets.data() == stage.get() + end) {
      end += octets.size();
    } else {
      placement.arrived(octets);
      if (options.crc) counters.octets_crced += octets.size();
    }
    n -= octets.size();
  }
}

std::size_t Deframer::feed(View octets) {
  std::size_t taken = 0;
  while (taken < octets.size()) {
    const auto pieces = plan();
    if (pieces.empty()) break;
    const std::size_t n = std::min(octets.size() - taken, pieces.front().size());
    std::memcpy(pieces.front().data(), octets.data() + taken, n);
    filled(n);
    taken += n;
  }
  return taken;
}

StepOrFault Deframer::next(std::size_t want_prefix) {
  State& s = *state_;
  assert(want_prefix <= kMaxPrefix);
  s.plan_size = 0;
  s.want_prefix = want_prefix;
  s.read_length();
  if (s.phase == Phase::kStaging) {
    if (!s.is_staged()) return s.look_for_prefix();
    return s.finish(s.verify_staged(), Phase::kUlpdu,
                    Step::kUlpdu);  // Only the length determines where the FPDU ends. [MPA-61]
  }
  switch (s.phase) {
    case Phase::kPlacing:
      if (!s.is_placed()) return Step::kNeedMore;
      return s.finish(s.verify_placed(), Phase::kPlaced, Step::kPlaced);
    case Phase::kUlpdu:
      return Step::kUlpdu;
    case Phase::kPlaced:
      return Step::kPlaced;
    case Phase::kFaulty:
      return StepOrFault(s.fault);  // [MPA-113]
    default:
      return Step::kNeedMore;
  }
}

StepOrFault Deframer::State::look_for_prefix() {
  if (partial_given) return Step::kNeedMore;
  const std::size_t wanted = std::min(want_prefix, fpdu.ulpdu_length());
  if (end - begin < fpdu.end_of(wanted)) return Step::kNeedMore;
  partial_given = true;
  set_prefix();
  return Step::kPartial;
}

void Deframer::place(std::size_t header_size, const bytes::Scatter& target) {
  State& s = *state_;
  assert(s.phase == Phase::kStaging && s.partial_given);
  const View staged = s.staged();
  const std::size_t copied = s.placement.begin(s.fpdu, s.options.crc, header_size, target, staged);
  s.counters.octets_copied += copied;
  const std::size_t trailer = s.placement.trailer_offset();
  if (s.options.crc) s.counters.octets_crced += std::min(trailer, staged.size());
  // The staged octets from `trailer` on are the trailer, or the part of it that has arrived.
  if (staged.size() > trailer) {
    s.begin += trailer;
  } else {
    s.begin = s.end = 0;
  }
  s.phase = Phase::kPlacing;
  s.places = true;
  s.plan_size = 0;
}

void Deframer::abandon_placement() {
  State& s = *state_;
  if (s.phase != Phase::kPlacing) return;
  s.placement.abandon();
  s.plan_size = 0;
}

// After consume(), next() does not return the same FPDU again. [DDP-11]
bool Deframer::consume() {
  State& s = *state_;
  assert(s.phase == Phase::kUlpdu || s.phase == Phase::kPlaced);
  s.begin += s.phase == Phase::kUlpdu ? s.fpdu.wire_size() : s.trailer_size();
  if (s.begin == s.end) s.begin = s.end = 0;
  s.position += s.fpdu.wire_size();
  s.wire_size_before = std::exchange(s.last_wire_size, s.fpdu.wire_size());
  s.phase = Phase::kFront;
  s.partial_given = false;
  s.plan_size = 0;
  return s.end != 0;
}

bool Deframer::at_boundary() const {
  const State& s = *state_;
  return s.phase == Phase::kFront && s.begin == s.end;
}

std::size_t Deframer::staged_octets() const { return state_->end - state_->begin; }
const DeframerCounters& Deframer::counters() const { return state_->counters; }

/// Returns how many octets the FPDU has up to the end of ULPDU_Length.
inline std::size_t Deframer::State::front_size() const {
  return leading_marker_size(position, options.markers) + kLengthFieldSize;
}

inline void Deframer::State::read_length() {
  if (phase != Phase::kFront) return;
  const std::size_t front = front_size();
  if (end - begin < front) return;
  const auto length = bytes::load_be<std::uint16_t>(stage.get() + begin + front - kLengthFieldSize);
  fpdu = FpduLayout(position, options.markers, length);
  in_hand.ulpdu_length = length;
  phase = Phase::kStaging;
}

inline void Deframer::State::add(Span piece) {
  if (!piece.empty()) plan[plan_size++] = piece;
}

inline void Deframer::State::plan_stage(bool read_ahead) {
  const std::size_t have = end - begin;
  const bool front = phase == Phase::kFront;
  if (!front && (phase != Phase::kStaging || is_staged())) {
    if (read_ahead) add({stage.get() + end, capacity - end});
    return;
  }
  const std::size_t needed = front ? front_size() : fpdu.wire_size();
  const bool large = !front && needed >= options.exact_above;
  std::size_t wanted = needed;
  if (read_ahead && !large) wanted = std::max(needed, read_ahead_limit(front ? 0 : needed));
  make_room(read_ahead && !large ? std::max(needed, std::min(wanted, capacity / 2)) : needed);
  const std::size_t room = capacity - end;
  add({stage.get() + end, std::min(room, wanted - have)});
}

void Deframer::State::plan_placement(bool read_ahead) {
  placement.plan([this](Span piece) { add(piece); });
  // After the trailer, read only the beginning of the next FPDU, so that the payload of that FPDU
  // can be placed as well. If the previous FPDU was small, allow for another small FPDU before the
  // next large one.
  std::size_t wanted = trailer_size();
  if (read_ahead) wanted += read_ahead_limit(last_is_small() ? last_wire_size : 0);
  make_room(wanted);
  const std::size_t have = end - begin;
  if (have < wanted) {
    add({stage.get() + end, wanted - have});
  } else if (plan_size == 0 && read_ahead) {
    add({stage.get() + end, capacity - end});
  }
}

/// Returns how many octets, counted from `begin`, to ask TCP for. `small` is the size of a small
/// FPDU that comes before a large one, or 0 if there is none.
inline std::size_t Deframer::State::read_ahead_limit(std::size_t small) const {
  // If the next payload will probably be placed, ask only for the beginning of its FPDU.
  const bool placing = phase == Phase::kPlacing;
  if (placing || (places && !(last_is_small() && wire_size_before < options.exact_above))) {
    return small + 2 * kMarkerSize + kLengthFieldSize + want_prefix;
  }
  if (last_is_small()) return capacity;
  // After a large FPDU, ask for as many FPDUs of the same size as fit into the staging area.
  return std::max<std::size_t>(1, (capacity - begin) / last_wire_size) * last_wire_size;
}

/// Makes room for `wanted` octets from `begin` on, some of which have arrived.
inline void Deframer::State::make_room(std::size_t wanted) {
  if (begin + wanted <= capacity) return;
  const std::size_t have = end - begin;
  std::memmove(stage.get(), stage.get() + begin, have);
  counters.octets_copied += have;
  begin = 0;
  end = have;
}

/// Enters phase `then` if the FPDU is correct (`wrong` is null), and kFaulty otherwise. So no octet
/// is handed out before it has been verified. [MPA-59]
inline StepOrFault Deframer::State::finish(const Fault* wrong, Phase then, Step step) {
  if (wrong != nullptr) {
    fault = wrong;
    phase = Phase::kFaulty;
    return StepOrFault(wrong);
  }
  ++counters.fpdus;
  counters.markers += fpdu.marker_count();
  counters.pad_octets += pad_size(fpdu.ulpdu_length());
  phase = then;
  if (then == Phase::kUlpdu) hand_out();
  return step;
}

/// Verifies a staged FPDU: first the CRC, which covers PAD, and then the markers. Nothing else
/// checks the contents of PAD. [MPA-16] [MPA-46]
inline const Fault* Deframer::State::verify_staged() {
  const std::byte* first = stage.get() + begin;
  // Without CRCs, the CRC field is not checked. [MPA-35] [DDP-6] [MPA-18] [MPA-41]
  if (options.crc) {
    const std::size_t covered = fpdu.crc_offset();
    counters.octets_crced += covered;
    if (crc32c::compute({first, covered}) != load_crc(first + covered)) return &kCrcMismatch;
  }
  const auto marker_at = [&](std::size_t index) { return first + fpdu.marker_offset(index); };
  return markers_agree(marker_at) ? nullptr : &kMarkerMismatch;
}

const Fault* Deframer::State::verify_placed() {
  const std::byte* trailer = stage.get() + begin;
  const std::size_t offset = placement.trailer_offset();
  if (options.crc) {
    const std::size_t covered = trailer_size() - kCrcSize;
    counters.octets_crced += covered;
    const std::uint32_t crc = crc32c::extend(placement.crc(), {trailer, covered});
    if (crc != load_crc(trailer + covered)) return &kCrcMismatch;
  }
  const auto marker_at = [&](std::size_t index) {
    const std::size_t at = fpdu.marker_offset(index);
    return at < offset ? placement.marker(index).data() : trailer + (at - offset);
  };
  return markers_agree(marker_at) ? nullptr : &kMarkerMismatch;
}

/// Checks each marker against the chain of ULPDU_Length values. Ignores the reserved 16 bits of a
/// marker and the two low bits of FPDUPTR. [MPA-21] [MPA-23] [MPA-58] [MPA-110]
template <typename MarkerAt>
bool Deframer::State::markers_agree(MarkerAt marker_at) const {
  for (std::size_t i = 0; i < fpdu.marker_count(); ++i) {
    const auto fpduptr = bytes::load_be<std::uint16_t>(marker_at(i) + 2);
    if (((fpduptr ^ fpdu.fpduptr(i)) & 0xFFFC) != 0) return false;
  }
  return true;
}

/// Hands out the ULPDU without length field, markers, PAD and CRC, so that the caller gets each
/// ULPDU as it was sent. [MPA-9] [MPA-33] [MPA-34] [DDP-4]
inline void Deframer::State::hand_out() {
  if (fpdu.marker_count() != 0) return gather_ulpdu();
  const View whole(stage.get() + begin + kLengthFieldSize, in_hand.ulpdu_length);
  pieces[0] = whole;
  in_hand.ulpdu = {pieces.data(), 1};
  in_hand.prefix = whole.first(std::min(want_prefix, whole.size()));
}

void Deframer::State::gather_ulpdu() {
  std::size_t count = 0;
  const std::size_t length = fpdu.ulpdu_length();
  fpdu.walk(fpdu.end_of(0), fpdu.end_of(length), [this, &count](const FpduLayout::Run& run) {
    if (!run.marker) pieces[count++] = {stage.get() + begin + run.offset, run.size};
  });
  in_hand.ulpdu = {pieces.data(), count};
  set_prefix();
}

void Deframer::State::set_prefix() {
  const std::size_t size = std::min(want_prefix, fpdu.ulpdu_length());
  const std::size_t from = fpdu.end_of(0);
  const std::size_t to = fpdu.end_of(size);
  const std::byte* first = stage.get() + begin;
  if (to - from == size) {
    in_hand.prefix = {first + from, size};
    return;
  }
  // A marker is inside the prefix: copy the octets around it, so that the prefix is contiguous.
  std::size_t filled = 0;
  fpdu.walk(from, to, [&](const FpduLayout::Run& run) {
    if (run.marker) return;
    std::memcpy(prefix_copy.data() + filled, first + run.offset, run.size);
    filled += run.size;
  });
  in_hand.prefix = {prefix_copy.data(), size};
}

}  // namespace iwarp::mpa
