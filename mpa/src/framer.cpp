// SPDX-License-Identifier: Apache-2.0
// Framer: one ring of octets and one list of pieces (RFC 5044 sections 4.1 to 4.4). All octets,
// except payload that is not copied, are written to the ring in stream order. So octets that are
// adjacent in the stream are adjacent in memory too, and form one piece. The ring exists only while
// octets are queued. The Framer never blocks and never sends.
#include "iwarp/mpa/framer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/touch.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/layout.hpp"
#include "spare_buffers.hpp"

namespace iwarp::mpa {
namespace {

using bytes::Span;
using bytes::View;

constexpr std::size_t kMaxHeader = 96;
constexpr std::array<std::byte, kCrcSize> kZeros{};

/// Returns how many octets of the ring an FPDU needs in addition to header and payload: for the
/// length field, PAD, CRC and markers.
constexpr std::size_t overhead(std::size_t ulpdu, bool markers) {
  const auto marks = markers ? max_markers(ulpdu) : 0;
  return fpdu_size(ulpdu) - ulpdu + kMarkerSize * marks;
}
/// Returns the largest number of pieces that one FPDU adds: all pieces of the payload, two for each
/// marker (the marker itself, and one more because it splits a piece), the octets before the
/// payload, the trailer, and one more because the ring may wrap.
constexpr std::size_t piece_bound(std::size_t ulpdu, bool markers) {
  const auto marks = markers ? max_markers(ulpdu) : 0;
  return bytes::kMaxSge + 2 * marks + 3;
}

constexpr std::size_t kMinRing = kMaxMulpdu + overhead(kMaxMulpdu, true);
constexpr std::size_t kMinPieces = piece_bound(kMaxMulpdu, true);
/// An FPDU whose ULPDU has up to this many octets is assembled first, and its CRC is computed in
/// one pass afterwards. This is faster than doing both a few octets at a time.
constexpr std::size_t kSmall = 512;

}  // namespace

template <typename Predicate>
bool Framer::detach_if(const Predicate& wanted) {
  std::uint64_t end = sent_position_;
  for (View& piece : pieces_) {
    end += piece.size();
    if (in_ring(piece) || !wanted(piece)) continue;
    auto copy = std::make_unique_for_overwrite<std::byte[]>(piece.size());
    const bool is_there = bytes::guarded([&] {
      bytes::begin_touch();
      std::memcpy(copy.get(), piece.data(), piece.size());
      bytes::end_touch();
    });
    if (!is_there) return false;
    counters_.octets_copied += piece.size();
    piece = {copy.get(), piece.size()};
    detached_.push_back({end, std::move(copy)});
  }
  return true;
}

Framer::Framer(const FramerOptions& options)
    : options_(options),
      ring_size_(std::max(options.ring, kMinRing)),
      max_pieces_(std::max(options.max_pieces, kMinPieces)),
      max_fpdus_(std::max<std::size_t>(options.max_fpdus, 1)),
      records_begin_(options.position),
      position_(options.position),
      sent_position_(options.position) {
  assert(options.position % 4 == 0);
}

Framer::~Framer() { end_ring(); }

Framer::Need Framer::need(std::size_t header_size, std::size_t payload_size,
                          PayloadMode mode) const {
  const std::size_t ulpdu = header_size + payload_size;
  const bool copied = mode == PayloadMode::kCopy || payload_size <= options_.copy_below;
  return {.octets = header_size + overhead(ulpdu, options_.markers) + (copied ? payload_size : 0),
          .pieces = piece_bound(ulpdu, options_.markers)};
}

bool Framer::room(const Need& need, std::size_t queued_below) const {
  return position_ - sent_position_ < queued_below && records_.size() < max_fpdus_ &&
         need.octets <= ring_size_ - ring_used_ && need.pieces <= max_pieces_ - pieces_.size();
}

void Framer::frame(View header, const bytes::Gather& payload, PayloadMode mode,
                   std::uint64_t cookie) {
  const std::size_t payload_size = bytes::total_size(payload);
  const std::size_t ulpdu_length = header.size() + payload_size;
  assert(header.size() <= kMaxHeader && ulpdu_length <= kMaxMulpdu);  // [MPA-7]
  assert(room(header.size(), payload_size, mode));
  pieces_.make_room(piece_bound(ulpdu_length, options_.markers));
  records_.make_room(1);
  const std::uint64_t begin = position_;
  if (ring_used_ == 0) begin_ring();

  const bool copied = mode == PayloadMode::kCopy || payload_size <= options_.copy_below;
  if (copied) counters_.octets_copied += payload_size;
  if (copied && fits_in_one(ulpdu_length)) {
    append_in_one(header, payload, ulpdu_length);
  } else {
    append_in_parts(header, payload, ulpdu_length, copied);
  }

  records_.push_back({cookie, position_});
  ++counters_.fpdus;
  counters_.pad_octets += pad_size(ulpdu_length);
  counters_.octets += position_ - begin;
}

std::span<const View> Framer::plan(std::size_t limit) const {
  return {pieces_.begin(), std::min(limit, pieces_.size())};
}

void Framer::sent(std::size_t n) {
  assert(n <= queued_octets());
  sent_position_ += n;
  while (n > 0) {
    View& piece = pieces_.front();
    const std::size_t take = std::min(n, piece.size());
    release(piece.first(take));
    piece = piece.subspan(take);
    if (piece.empty()) pieces_.pop_front();
    n -= take;
  }
  if (ring_used_ == 0) end_ring();
  if (!detached_.empty()) {
    std::erase_if(detached_, [this](const Detached& d) { return d.end <= sent_position_; });
  }
}

std::optional<std::uint64_t> Framer::pop_sent() {
  if (!front_has_left()) return std::nullopt;
  const Record record = records_.front();
  records_.pop_front();
  records_begin_ = record.end;
  return record.cookie;
}

bool Framer::detach(View memory) {
  const std::less<const std::byte*> before;
  return detach_if([&](View piece) {
    return before(piece.data(), memory.data() + memory.size()) &&
           before(memory.data(), piece.data() + piece.size());
  });
}

bool Framer::detach_all() {
  return detach_if([](View) { return true; });
}

void Framer::drop_unsent(std::optional<std::uint64_t> keep) {
  const auto drops_last = [&] {
    return !records_.empty() && back_begin() >= sent_position_ && records_.back().cookie != keep;
  };
  while (drops_last()) records_.pop_back();
  const bool half_out = !records_.empty() && records_.back().end > sent_position_;
  // The next FPDU begins where the first dropped FPDU began. Its beginning determines the
  // positions of its markers. [MPA-25]
  position_ = half_out ? records_.back().end : sent_position_;
  cut_pieces(position_ - sent_position_);
}

std::size_t Framer::queued_octets() const {
  return static_cast<std::size_t>(position_ - sent_position_);
}

/// Returns whether the FPDU is small, has no markers, and fits before the end of the ring.
inline bool Framer::fits_in_one(std::size_t ulpdu_length) const {
  if (options_.markers || ulpdu_length > kSmall) return false;
  return fpdu_size(ulpdu_length) <= ring_size_ - ring_next_;
}

/// Appends an FPDU for which fits_in_one() is true. Writes the same octets as append_in_parts().
inline void Framer::append_in_one(View header, const bytes::Gather& payload,
                                  std::size_t ulpdu_length) {
  const Span whole(ring_.get() + ring_next_, fpdu_size(ulpdu_length));
  std::byte* at = whole.data();
  bytes::store_be(at, static_cast<std::uint16_t>(ulpdu_length));  // [MPA-12]
  at += kLengthFieldSize;
  bytes::copy_short(at, header);  // [MPA-13]
  at += header.size();
  bytes::begin_touch();
  for (const View piece : payload) at = std::copy(piece.begin(), piece.end(), at);
  bytes::end_touch();
  // Write zeros for PAD; the CRC overwrites the zeros beyond PAD. [MPA-14] [MPA-15]
  std::memcpy(at, kZeros.data(), kZeros.size());
  const auto covered = whole.size() - kCrcSize;
  std::uint32_t value = 0;  // Without CRCs, the CRC field is zero. [MPA-17]
  if (options_.crc) {
    value = crc32c::compute(whole.first(covered));
    counters_.octets_crced += covered;
  }
  const auto field = crc_octets(value);
  std::memcpy(whole.data() + covered, field.data(), field.size());
  push_piece(whole, true);
  position_ += whole.size();
  ring_used_ += whole.size();
  ring_next_ += whole.size();
  if (ring_next_ == ring_size_) ring_next_ = 0;
}

/// Appends an FPDU that may be large, have markers, or wrap around the end of the ring.
[[gnu::noinline]] void Framer::append_in_parts(View header, const bytes::Gather& payload,
                                               std::size_t ulpdu_length, bool copied) {
  crc_ = 0;
  fpdu_begun_ = false;
  append_front(header, ulpdu_length);
  bytes::begin_touch();
  for (const View piece : payload) copied ? append_copied(piece) : append_in_place(piece);
  bytes::end_touch();
  // PAD is zero and makes the size of the FPDU a multiple of 4. [MPA-14] [MPA-15]
  append_copied(View(kZeros).first(pad_size(ulpdu_length)));
  append_crc();
}

/// Appends ULPDU_Length and then the ULP's header. ULPDU_Length counts only the ULPDU. [MPA-12]
/// [MPA-13]
void Framer::append_front(View header, std::size_t ulpdu_length) {
  std::array<std::byte, kLengthFieldSize + kMaxHeader> octets;
  bytes::Writer front(octets);
  front.u16(static_cast<std::uint16_t>(ulpdu_length));
  front.put(header);
  append_copied(front.written());
}

void Framer::append_copied(View octets) {
  while (!octets.empty()) {
    const std::size_t take = std::min(octets.size(), until_marker());
    write_ring(octets.first(take), true);
    octets = octets.subspan(take);
  }
}

void Framer::append_in_place(View octets) {
  while (!octets.empty()) {
    const View part = octets.first(std::min(octets.size(), until_marker()));
    if (options_.crc) {
      crc_ = crc32c::extend(crc_, part);
      counters_.octets_crced += part.size();
    }
    push_piece(part, false);
    position_ += part.size();
    octets = octets.subspan(part.size());
  }
}

void Framer::append_crc() {
  until_marker();  // A marker between PAD and CRC belongs to this FPDU. [MPA-45]
  write_ring(crc_octets(crc_), false);  // `crc_` is zero without CRCs. [MPA-17]
}

/// Appends a marker if one is due at the current position, and returns how many octets may follow
/// before the next marker. Full operation begins at position 0, and therefore with a marker.
/// [MPA-25] [MPA-26] [MPA-69] [MPA-97]
std::size_t Framer::until_marker() {
  if (!options_.markers) return static_cast<std::size_t>(-1);
  if (to_next_marker(position_) == 0) append_marker();
  if (!fpdu_begun_) {
    fpdu_start_ = position_;
    fpdu_begun_ = true;
  }
  return to_next_marker(position_);
}

void Framer::append_marker() {
  // A marker before ULPDU_Length has an FPDUPTR of 0. The FPDUPTR of any other marker is the
  // distance of the marker from ULPDU_Length of the same FPDU. Markers and FPDUs begin at multiples
  // of 4. [MPA-22] [MPA-27] [MPA-28] [MPA-31]
  const auto fpduptr = static_cast<std::uint16_t>(fpdu_begun_ ? position_ - fpdu_start_ : 0);
  std::array<std::byte, kMarkerSize> octets;
  bytes::Writer marker(octets);  // [MPA-19]
  marker.u16(0);                 // [MPA-20]
  marker.u16(fpduptr);
  write_ring(octets, true);
  ++counters_.markers;
}

/// Copies octets to the ring, and extends the CRC over them if `covered`. [MPA-44] If reading
/// `octets` faults, `position_` does not include these octets yet, so drop_unsent() removes those
/// that were written.
void Framer::write_ring(View octets, bool covered) {
  while (!octets.empty()) {
    const std::size_t take = std::min(octets.size(), ring_size_ - ring_next_);
    std::byte* to = ring_.get() + ring_next_;
    if (covered && options_.crc) {
      crc_ = crc32c::copy_extend(crc_, to, octets.first(take));
      counters_.octets_crced += take;
    } else {
      std::memcpy(to, octets.data(), take);
    }
    push_piece({to, take}, true);
    position_ += take;
    ring_used_ += take;
    ring_next_ = ring_next_ + take == ring_size_ ? 0 : ring_next_ + take;
    octets = octets.subspan(take);
  }
}

/// Appends a piece to the gather list. If the piece begins in memory where the last piece of the
/// list ends, extends that last piece instead, so that many small FPDUs are sent as one piece.
/// [MPA-55]
inline void Framer::push_piece(View piece, bool is_in_ring) {
  if (!pieces_.empty()) {
    View& last = pieces_.back();
    if (last.data() + last.size() == piece.data() && in_ring(last) == is_in_ring) {
      last = {last.data(), last.size() + piece.size()};
      return;
    }
  }
  pieces_.push_back(piece);
}

inline bool Framer::in_ring(View piece) const {
  const std::less<const std::byte*> before;
  return !before(piece.data(), ring_.get()) && before(piece.data(), ring_.get() + ring_size_);
}

inline void Framer::begin_ring() {
  ring_next_ = 0;
  if (ring_ == nullptr) ring_ = take(spare_rings, ring_size_);
}

inline void Framer::end_ring() {
  if (ring_ != nullptr) give(spare_rings, std::move(ring_), ring_size_);
}

/// Frees the ring octets of a piece that was sent or dropped. Octets leave the ring in the order in
/// which they were written.
inline void Framer::release(View left) {
  if (in_ring(left)) ring_used_ -= left.size();
}

/// Removes all queued octets but the first `keep`.
void Framer::cut_pieces(std::uint64_t keep) {
  std::size_t dropped_from_ring = 0;
  for (View& piece : pieces_) {
    const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(keep, piece.size()));
    if (in_ring(piece)) dropped_from_ring += piece.size() - kept;
    piece = piece.first(kept);
    keep -= kept;
  }
  while (!pieces_.empty() && pieces_.back().empty()) pieces_.pop_back();
  ring_used_ -= dropped_from_ring;
  ring_next_ = (ring_next_ + ring_size_ - dropped_from_ring) % ring_size_;
  if (ring_used_ == 0) end_ring();
}

}  // namespace iwarp::mpa
