// SPDX-License-Identifier: Apache-2.0
// Deframer: a linear staging area in front of the FPDU parser (RFC 5044 sections 4.1 to 4.4, 6). An
// FPDU in the staging area is always contiguous, so one CRC pass covers it. Octets are moved only
// if an FPDU would not fit behind the staged octets. plan() limits how much is read, so that such
// moves are rare. Only the chain of ULPDU_Length values determines where FPDUs begin; markers are a
// cross-check. [MPA-57] [MPA-60]
#include "iwarp/mpa/deframer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/faults.hpp"
#include "spare_buffers.hpp"

namespace iwarp::mpa {
namespace {

using bytes::Span;
using bytes::View;

/// Returns the largest number of pieces of a plan: all pieces of the target, two for each marker
/// (the marker itself, and one more because it splits a piece of the target), and the staging area.
constexpr std::size_t max_plan(std::size_t markers) { return bytes::kMaxSge + 2 * markers + 1; }

}  // namespace

Deframer::Deframer(const DeframerOptions& options)
    : options_(options),
      capacity_(std::max(options.stage, kMaxWireSize)),
      plan_(max_plan(options.markers ? kMaxMarkers : 0)),
      pieces_((options.markers ? kMaxMarkers : 0) + 1),
      position_(options.position) {
  assert(options.position % 4 == 0);
}

Deframer::~Deframer() {
  if (stage_ != nullptr) give(spare_stages, std::move(stage_), capacity_);
}

std::span<const Span> Deframer::plan(bool read_ahead) {
  if (plan_size_ != 0 && planned_ahead_ == read_ahead) return {plan_.data(), plan_size_};
  plan_size_ = 0;
  planned_ahead_ = read_ahead;
  if (phase_ == Phase::kFaulty) return {};
  if (phase_ == Phase::kPlacing) {
    plan_placement(read_ahead);
  } else {
    read_length();
    plan_stage(read_ahead);
  }
  return {plan_.data(), plan_size_};
}

// `n` may be any number, because the Deframer does not depend on where TCP cut the stream. [MPA-56]
// [MPA-117]
void Deframer::filled(std::size_t n) {
  counters_.octets += n;
  if (phase_ == Phase::kPlacing) {
    fill_placement(n);
  } else {
    assert(n == 0 || (plan_size_ == 1 && n <= plan_[0].size()));
    end_ += n;  // The whole plan is in the staging area.
  }
  plan_size_ = 0;
}

void Deframer::fill_placement(std::size_t n) {
  for (std::size_t i = 0; n > 0; ++i) {
    assert(i < plan_size_);
    const View octets = plan_[i].first(std::min(n, plan_[i].size()));
    if (octets.data() == stage_.get() + end_) {
      end_ += octets.size();
    } else {
      placement_.arrived(octets);
      if (options_.crc) counters_.octets_crced += octets.size();
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
  assert(want_prefix <= kMaxPrefix);
  plan_size_ = 0;
  want_prefix_ = want_prefix;
  read_length();
  if (phase_ == Phase::kStaging) {
    if (!is_staged()) return look_for_prefix();
    return finish(verify_staged(), Phase::kUlpdu,
                  Step::kUlpdu);  // Only the length determines where the FPDU ends. [MPA-61]
  }
  switch (phase_) {
    case Phase::kPlacing:
      if (!is_placed()) return Step::kNeedMore;
      return finish(verify_placed(), Phase::kPlaced, Step::kPlaced);
    case Phase::kUlpdu:
      return Step::kUlpdu;
    case Phase::kPlaced:
      return Step::kPlaced;
    case Phase::kFaulty:
      return StepOrFault(fault_);  // [MPA-113]
    default:
      return Step::kNeedMore;
  }
}

StepOrFault Deframer::look_for_prefix() {
  if (partial_given_) return Step::kNeedMore;
  const std::size_t wanted = std::min(want_prefix_, fpdu_.ulpdu_length());
  if (end_ - begin_ < fpdu_.end_of(wanted)) return Step::kNeedMore;
  partial_given_ = true;
  set_prefix();
  return Step::kPartial;
}

void Deframer::place(std::size_t header_size, const bytes::Scatter& target) {
  assert(phase_ == Phase::kStaging && partial_given_);
  const View staged(stage_.get() + begin_, end_ - begin_);
  const std::size_t copied = placement_.begin(fpdu_, options_.crc, header_size, target, staged);
  counters_.octets_copied += copied;
  const std::size_t trailer = placement_.trailer_offset();
  if (options_.crc) counters_.octets_crced += std::min(trailer, staged.size());
  // The staged octets from `trailer` on are the trailer, or the part of it that has arrived.
  if (staged.size() > trailer) {
    begin_ += trailer;
  } else {
    begin_ = end_ = 0;
  }
  phase_ = Phase::kPlacing;
  places_ = true;
  plan_size_ = 0;
}

void Deframer::abandon_placement() {
  if (phase_ != Phase::kPlacing) return;
  placement_.abandon();
  plan_size_ = 0;
}

// After consume(), next() does not return the same FPDU again. [DDP-11]
bool Deframer::consume() {
  assert(phase_ == Phase::kUlpdu || phase_ == Phase::kPlaced);
  begin_ += phase_ == Phase::kUlpdu ? fpdu_.wire_size() : trailer_size();
  if (begin_ == end_) begin_ = end_ = 0;
  position_ += fpdu_.wire_size();
  wire_size_before_ = std::exchange(last_wire_size_, fpdu_.wire_size());
  phase_ = Phase::kFront;
  partial_given_ = false;
  plan_size_ = 0;
  return end_ != 0;
}

// The FPDUs that stay are moved together, so that each FPDU is moved and examined only once.
void Deframer::overtake(bool (*take)(void*), void* context) {
  if (options_.markers) return;
  const FpduLayout current = fpdu_;
  const std::size_t first = begin_;
  const std::size_t offered = offered_to_ > position_ ? offered_to_ - position_ : 0;
  begin_ += std::max(current.wire_size(), offered);
  std::size_t stays = begin_;  // end of the octets before begin_ that stay
  const auto keep = [this, &stays](std::size_t size) {
    if (stays != begin_) {
      std::memmove(stage_.get() + stays, stage_.get() + begin_, size);
      counters_.octets_copied += size;
    }
    stays += size;
    begin_ += size;
  };
  for (;;) {
    phase_ = Phase::kFront;
    const auto counted = counters_;
    const auto step = next(want_prefix_);
    if (!step || *step != Step::kUlpdu) break;
    if (take(context)) {
      begin_ += fpdu_.wire_size();
    } else {
      counters_.fpdus = counted.fpdus;
      counters_.pad_octets = counted.pad_octets;
      keep(fpdu_.wire_size());
    }
  }
  offered_to_ = position_ + (stays - first);
  keep(end_ - begin_);
  end_ = stays;
  begin_ = first;
  // Returns to the FPDU that was current before the loop.
  fpdu_ = current;
  ulpdu_length_ = current.ulpdu_length();
  phase_ = Phase::kUlpdu;
  fault_ = nullptr;
  plan_size_ = 0;
  hand_out();
}

void Deframer::rest() {
  if (stage_ == nullptr || begin_ != end_) return;
  begin_ = end_ = 0;
  plan_size_ = 0;
  give(spare_stages, std::move(stage_), capacity_);
}

/// Returns how many octets the FPDU has up to the end of ULPDU_Length.
inline std::size_t Deframer::front_size() const {
  return leading_marker_size(position_, options_.markers) + kLengthFieldSize;
}

inline void Deframer::read_length() {
  if (phase_ != Phase::kFront) return;
  const std::size_t front = front_size();
  if (end_ - begin_ < front) return;
  const auto length =
      bytes::load_be<std::uint16_t>(stage_.get() + begin_ + front - kLengthFieldSize);
  fpdu_ = FpduLayout(position_, options_.markers, length);
  ulpdu_length_ = length;
  phase_ = Phase::kStaging;
}

inline void Deframer::add(Span piece) {
  if (!piece.empty()) plan_[plan_size_++] = piece;
}

inline void Deframer::plan_stage(bool read_ahead) {
  if (stage_ == nullptr) stage_ = take(spare_stages, capacity_);
  const std::size_t have = end_ - begin_;
  const bool front = phase_ == Phase::kFront;
  if (!front && (phase_ != Phase::kStaging || is_staged())) {
    if (!read_ahead) return;
    if (end_ == capacity_ && has_room()) make_room(have + 1);
    return add({stage_.get() + end_, capacity_ - end_});
  }
  const std::size_t needed = front ? front_size() : fpdu_.wire_size();
  const bool large = !front && needed >= options_.exact_above;
  std::size_t wanted = needed;
  if (read_ahead && !large) wanted = std::max(needed, read_ahead_limit(front ? 0 : needed));
  make_room(read_ahead && !large ? std::max(needed, std::min(wanted, capacity_ / 2)) : needed);
  const std::size_t room = capacity_ - end_;
  add({stage_.get() + end_, std::min(room, wanted - have)});
}

void Deframer::plan_placement(bool read_ahead) {
  if (stage_ == nullptr) stage_ = take(spare_stages, capacity_);
  placement_.plan([this](Span piece) { add(piece); });
  // After the trailer, read only the beginning of the next FPDU, so that the payload of that FPDU
  // can be placed as well. If the previous FPDU was small, allow for another small FPDU before the
  // next large one.
  std::size_t wanted = trailer_size();
  if (read_ahead) wanted += read_ahead_limit(last_is_small() ? last_wire_size_ : 0);
  make_room(wanted);
  const std::size_t have = end_ - begin_;
  if (have < wanted) {
    add({stage_.get() + end_, wanted - have});
  } else if (plan_size_ == 0 && read_ahead) {
    add({stage_.get() + end_, capacity_ - end_});
  }
}

/// Returns how many octets, counted from `begin`, to ask TCP for. `small` is the size of a small
/// FPDU that comes before a large one, or 0 if there is none.
inline std::size_t Deframer::read_ahead_limit(std::size_t small) const {
  // If the next payload will probably be placed, ask only for the beginning of its FPDU.
  const bool placing = phase_ == Phase::kPlacing;
  if (placing || (places_ && !(last_is_small() && wire_size_before_ < options_.exact_above))) {
    return small + 2 * kMarkerSize + kLengthFieldSize + want_prefix_;
  }
  if (last_is_small()) return capacity_;
  // After a large FPDU, ask for as many FPDUs of the same size as fit into the staging area.
  return std::max<std::size_t>(1, (capacity_ - begin_) / last_wire_size_) * last_wire_size_;
}

/// Makes room for `wanted` octets from `begin` on, some of which have arrived.
inline void Deframer::make_room(std::size_t wanted) {
  if (begin_ + wanted <= capacity_) return;
  const std::size_t have = end_ - begin_;
  std::memmove(stage_.get(), stage_.get() + begin_, have);
  counters_.octets_copied += have;
  begin_ = 0;
  end_ = have;
  if (phase_ == Phase::kUlpdu) hand_out();
}

/// Enters phase `then` if the FPDU is correct (`wrong` is null), and kFaulty otherwise. So no octet
/// is handed out before it has been verified. [MPA-59]
inline StepOrFault Deframer::finish(const Fault* wrong, Phase then, Step step) {
  if (wrong != nullptr) {
    fault_ = wrong;
    phase_ = Phase::kFaulty;
    return StepOrFault(wrong);
  }
  ++counters_.fpdus;
  counters_.markers += fpdu_.marker_count();
  counters_.pad_octets += pad_size(fpdu_.ulpdu_length());
  phase_ = then;
  if (then == Phase::kUlpdu) hand_out();
  return step;
}

/// Verifies a staged FPDU: first the CRC, which covers PAD, and then the markers. Nothing else
/// checks the contents of PAD. [MPA-16] [MPA-46]
inline const Fault* Deframer::verify_staged() {
  const std::byte* first = stage_.get() + begin_;
  // Without CRCs, the CRC field is not checked. [MPA-35] [DDP-6] [MPA-18] [MPA-41]
  if (options_.crc) {
    const std::size_t covered = fpdu_.crc_offset();
    counters_.octets_crced += covered;
    if (crc32c::compute({first, covered}) != load_crc(first + covered)) return &kCrcMismatch;
  }
  const auto marker_at = [&](std::size_t index) { return first + fpdu_.marker_offset(index); };
  return markers_agree(marker_at) ? nullptr : &kMarkerMismatch;
}

const Fault* Deframer::verify_placed() {
  const std::byte* trailer = stage_.get() + begin_;
  const std::size_t offset = placement_.trailer_offset();
  if (options_.crc) {
    const std::size_t covered = trailer_size() - kCrcSize;
    counters_.octets_crced += covered;
    const std::uint32_t crc = crc32c::extend(placement_.crc(), {trailer, covered});
    if (crc != load_crc(trailer + covered)) return &kCrcMismatch;
  }
  const auto marker_at = [&](std::size_t index) {
    const std::size_t at = fpdu_.marker_offset(index);
    return at < offset ? placement_.marker(index).data() : trailer + (at - offset);
  };
  return markers_agree(marker_at) ? nullptr : &kMarkerMismatch;
}

/// Checks each marker against the chain of ULPDU_Length values. Ignores the reserved 16 bits of a
/// marker and the two low bits of FPDUPTR. [MPA-21] [MPA-23] [MPA-58] [MPA-110]
template <typename MarkerAt>
bool Deframer::markers_agree(MarkerAt marker_at) const {
  for (std::size_t i = 0; i < fpdu_.marker_count(); ++i) {
    const auto fpduptr = bytes::load_be<std::uint16_t>(marker_at(i) + 2);
    if (((fpduptr ^ fpdu_.fpduptr(i)) & 0xFFFC) != 0) return false;
  }
  return true;
}

/// Hands out the ULPDU without length field, markers, PAD and CRC, so that the caller gets each
/// ULPDU as it was sent. [MPA-9] [MPA-33] [MPA-34] [DDP-4]
inline void Deframer::hand_out() {
  if (fpdu_.marker_count() != 0) return gather_ulpdu();
  const View whole(stage_.get() + begin_ + kLengthFieldSize, ulpdu_length_);
  pieces_[0] = whole;
  ulpdu_ = {pieces_.data(), 1};
  prefix_ = whole.first(std::min(want_prefix_, whole.size()));
}

void Deframer::gather_ulpdu() {
  std::size_t count = 0;
  const std::size_t length = fpdu_.ulpdu_length();
  fpdu_.walk(fpdu_.end_of(0), fpdu_.end_of(length), [this, &count](const FpduLayout::Run& run) {
    if (!run.marker) pieces_[count++] = {stage_.get() + begin_ + run.offset, run.size};
  });
  ulpdu_ = {pieces_.data(), count};
  set_prefix();
}

void Deframer::set_prefix() {
  const std::size_t size = std::min(want_prefix_, fpdu_.ulpdu_length());
  const std::size_t from = fpdu_.end_of(0);
  const std::size_t to = fpdu_.end_of(size);
  const std::byte* first = stage_.get() + begin_;
  if (to - from == size) {
    prefix_ = {first + from, size};
    return;
  }
  // A marker is inside the prefix: copy the octets around it, so that the prefix is contiguous.
  std::size_t filled = 0;
  fpdu_.walk(from, to, [&](const FpduLayout::Run& run) {
    if (run.marker) return;
    std::memcpy(prefix_copy_.data() + filled, first + run.offset, run.size);
    filled += run.size;
  });
  prefix_ = {prefix_copy_.data(), size};
}

}  // namespace iwarp::mpa
