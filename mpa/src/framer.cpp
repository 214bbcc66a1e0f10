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
#include <iterator>
#include <utility>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/bytes/touch.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/layout.hpp"
#include "moving_queue.hpp"
#include "spare_rings.hpp"

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

/// An FPDU in the queue. It begins, with its leading marker, where the previous FPDU ends.
struct Record {
  std::uint64_t cookie = 0;
  std::uint64_t end = 0;  ///< stream position where the FPDU ends
};

/// A copy of payload that detach() has made, because the caller is about to deregister or
/// invalidate the memory. The copy is freed when all octets before stream position `end` have been
/// sent.
struct Detached {
  std::uint64_t end = 0;
  std::unique_ptr<std::byte[]> octets;
};

}  // namespace

struct Framer::State {
  explicit State(const FramerOptions& o)
      : options(o),
        ring_size(std::max(o.ring, kMinRing)),
        max_pieces(std::max(o.max_pieces, kMinPieces)),
        max_fpdus(std::max<std::size_t>(o.max_fpdus, 1)),
        records_begin(o.position),
        position(o.position),
        sent_position(o.position) {}

  // Functions that add octets to the stream.
  bool fits_in_one(std::size_t ulpdu_length) const;
  void append_in_one(View header, const bytes::Gather& payload, std::size_t ulpdu_length);
  void append_in_parts(View header, const bytes::Gather& payload, std::size_t ulpdu_length,
                       bool copied);
  void append_front(View header, std::size_t ulpdu_length);
  void append_copied(View octets);
  void append_in_place(View octets);
  void append_crc();
  void append_marker();
  void write_ring(View octets, bool covered);
  std::size_t until_marker();
  void push_piece(View piece, bool is_in_ring);
  bool in_ring(View piece) const;

  // Functions that remove octets from the queue.
  void begin_ring();
  void end_ring();
  void release(View left);
  void cut_pieces(std::uint64_t keep);
  template <typename Predicate>
  bool detach_if(const Predicate& wanted);
  /// Returns the stream position where the last FPDU in `records` begins.
  std::uint64_t back_begin() const {
    return records.size() > 1 ? std::prev(records.end(), 2)->end : records_begin;
  }
  bool front_has_left() const { return !records.empty() && records.front().end <= sent_position; }

  FramerOptions options;
  std::size_t ring_size;
  Ring ring;                  ///< null while nothing is queued; all queued FPDUs use the ring
  std::size_t ring_next = 0;  ///< where the next octet is written
  std::size_t ring_used = 0;

  std::size_t max_pieces;
  MovingQueue<View> pieces;

  std::size_t max_fpdus;
  MovingQueue<Record> records;  ///< FPDUs that pop_sent() has not returned yet
  /// Stream position of the first FPDU in `records` or, if `records` is empty, of the next FPDU.
  std::uint64_t records_begin;

  std::uint64_t position;        ///< stream position of the next octet to queue [MPA-32]
  std::uint64_t sent_position;   ///< stream position of the next octet to send
  std::uint64_t fpdu_start = 0;  ///< position of ULPDU_Length of the FPDU being built
  bool fpdu_begun = false;       ///< ULPDU_Length of the FPDU being built has been written
  std::uint32_t crc = 0;
  std::vector<Detached> detached;
  FramerCounters counters;
};

template <typename Predicate>
bool Framer::State::detach_if(const Predicate& wanted) {
  std::uint64_t end = sent_position;
  for (View& piece : pieces) {
    end += piece.size();
    if (in_ring(piece) || !wanted(piece)) continue;
    auto copy = std::make_unique_for_overwrite<std::byte[]>(piece.size());
    const bool is_there = bytes::guarded([&] {
      bytes::begin_touch();
      std::memcpy(copy.get(), piece.data(), piece.size());
      bytes::end_touch();
    });
    if (!is_there) return false;
    counters.octets_copied += piece.size();
    piece = {copy.get(), piece.size()};
    detached.push_back({end, std::move(copy)});
  }
  return true;
}

Framer::Framer(const FramerOptions& options) : state_(std::make_unique<State>(options)) {
  assert(options.position % 4 == 0);
}
Framer::~Framer() = default;
Framer::Framer(Framer&&) noexcept = default;
Framer& Framer::operator=(Framer&&) noexcept = default;

Framer::Need Framer::need(std::size_t header_size, std::size_t payload_size,
                          PayloadMode mode) const {
  const FramerOptions& o = state_->options;
  const std::size_t ulpdu = header_size + payload_size;
  const bool copied = mode == PayloadMode::kCopy || payload_size <= o.copy_below;
  return {.octets = header_size + overhead(ulpdu, o.markers) + (copied ? payload_size : 0),
          .pieces = piece_bound(ulpdu, o.markers)};
}

bool Framer::room(const Need& need, std::size_t queued_below) const {
  const State& s = *state_;
  return s.position - s.sent_position < queued_below && s.records.size() < s.max_fpdus &&
         need.octets <= s.ring_size - s.ring_used && need.pieces <= s.max_pieces - s.pieces.size();
}

void Framer::frame(View header, const bytes::Gather& payload, PayloadMode mode,
                   std::uint64_t cookie) {
  State& s = *state_;
  const std::size_t payload_size = bytes::total_size(payload);
  const std::size_t ulpdu_length = header.size() + payload_size;
  assert(header.size() <= kMaxHeader && ulpdu_length <= kMaxMulpdu);  // [MPA-7]
  assert(room(header.size(), payload_size, mode));
  s.pieces.make_room(piece_bound(ulpdu_length, s.options.markers));
  s.records.make_room(1);
  const std::uint64_t begin = s.position;
  if (s.ring_used == 0) s.begin_ring();

  const bool copied = mode == PayloadMode::kCopy || payload_size <= s.options.copy_below;
  if (copied) s.counters.octets_copied += payload_size;
  if (copied && s.fits_in_one(ulpdu_length)) {
    s.append_in_one(header, payload, ulpdu_length);
  } else {
    s.append_in_parts(header, payload, ulpdu_length, copied);
  }

  s.records.push_back({cookie, s.position});
  ++s.counters.fpdus;
  s.counters.pad_octets += pad_size(ulpdu_length);
  s.counters.octets += s.position - begin;
}

std::span<const View> Framer::plan(std::size_t limit) const {
  const auto& pieces = state_->pieces;
  return {pieces.begin(), std::min(limit, pieces.size())};
}

void Framer::sent(std::size_t n) {
  State& s = *state_;
  assert(n <= queued_octets());
  s.sent_position += n;
  while (n > 0) {
    View& piece = s.pieces.front();
    const std::size_t take = std::min(n, piece.size());
    s.release(piece.first(take));
    piece = piece.subspan(take);
    if (piece.empty()) s.pieces.pop_front();
    n -= take;
  }
  if (s.ring_used == 0) s.end_ring();
  if (!s.detached.empty()) {
    std::erase_if(s.detached, [&s](const Detached& d) { return d.end <= s.sent_position; });
  }
}

std::optional<std::uint64_t> Framer::pop_sent() {
  State& s = *state_;
  if (!s.front_has_left()) return std::nullopt;
  const Record record = s.records.front();
  s.records.pop_front();
  s.records_begin = record.end;
  return record.cookie;
}

bool Framer::detach(View memory) {
  const std::less<const std::byte*> before;
  return state_->detach_if([&](View piece) {
    return before(piece.data(), memory.data() + memory.size()) &&
           before(memory.data(), piece.data() + piece.size());
  });
}

bool Framer::detach_all() {
  return state_->detach_if([](View) { return true; });
}

void Framer::drop_unsent(std::optional<std::uint64_t> keep) {
  State& s = *state_;
  const auto drops_last = [&] {
    return !s.records.empty() && s.back_begin() >= s.sent_position &&
           s.records.back().cookie != keep;
  };
  while (drops_last()) s.records.pop_back();
  const bool half_out = !s.records.empty() && s.records.back().end > s.sent_position;
  // The next FPDU begins where the first dropped FPDU began. Its beginning determines the
  // positions of its markers. [MPA-25]
  s.position = half_out ? s.records.back().end : s.sent_position;
  s.cut_pieces(s.position - s.sent_position);
}

std::size_t Framer::queued_octets() const {
  return static_cast<std::size_t>(state_->position - state_->sent_position);
}

std::size_t Framer::queued_fpdus() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      state_->records, [this](const Record& r) { return r.end > state_->sent_position; }));
}

bool Framer::mid_fpdu() const {
  const State& s = *state_;
  const auto ends_here = [&s](const Record& r) { return r.end == s.sent_position; };
  return s.records_begin != s.sent_position && std::ranges::none_of(s.records, ends_here);
}

const FramerCounters& Framer::counters() const { return state_->counters; }

/// Returns whether the FPDU is small, has no markers, and fits before the end of the ring.
inline bool Framer::State::fits_in_one(std::size_t ulpdu_length) const {
  if (options.markers || ulpdu_length > kSmall) return false;
  return fpdu_size(ulpdu_length) <= ring_size - ring_next;
}

/// Appends an FPDU for which fits_in_one() is true. Writes the same octets as append_in_parts().
inline void Framer::State::append_in_one(View header, const bytes::Gather& payload,
                                         std::size_t ulpdu_length) {
  const Span whole(ring.get() + ring_next, fpdu_size(ulpdu_length));
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
  if (options.crc) {
    value = crc32c::compute(whole.first(covered));
    counters.octets_crced += covered;
  }
  const auto field = crc_octets(value);
  std::memcpy(whole.data() + covered, field.data(), field.size());
  push_piece(whole, true);
  position += whole.size();
  ring_used += whole.size();
  ring_next += whole.size();
  if (ring_next == ring_size) ring_next = 0;
}

/// Appends an FPDU that may be large, have markers, or wrap around the end of the ring.
[[gnu::noinline]] void Framer::State::append_in_parts(View header, const bytes::Gather& payload,
                                                      std::size_t ulpdu_length, bool copied) {
  crc = 0;
  fpdu_begun = false;
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
void Framer::State::append_front(View header, std::size_t ulpdu_length) {
  std::array<std::byte, kLengthFieldSize + kMaxHeader> octets;
  bytes::Writer front(octets);
  front.u16(static_cast<std::uint16_t>(ulpdu_length));
  front.put(header);
  append_copied(front.written());
}

void Framer::State::append_copied(View octets) {
  while (!octets.empty()) {
    const std::size_t take = std::min(octets.size(), until_marker());
    write_ring(octets.first(take), true);
    octets = octets.subspan(take);
  }
}

void Framer::State::append_in_place(View octets) {
  while (!octets.empty()) {
    const View part = octets.first(std::min(octets.size(), until_marker()));
    if (options.crc) {
      crc = crc32c::extend(crc, part);
      counters.octets_crced += part.size();
    }
    push_piece(part, false);
    position += part.size();
    octets = octets.subspan(part.size());
  }
}

void Framer::State::append_crc() {
  until_marker();  // A marker between PAD and CRC belongs to this FPDU. [MPA-45]
  write_ring(crc_octets(crc), false);  // `crc` is zero without CRCs. [MPA-17]
}

/// Appends a marker if one is due at the current position, and returns how many octets may follow
/// before the next marker. Full operation begins at position 0, and therefore with a marker.
/// [MPA-25] [MPA-26] [MPA-69] [MPA-97]
std::size_t Framer::State::until_marker() {
  if (!options.markers) return static_cast<std::size_t>(-1);
  if (to_next_marker(position) == 0) append_marker();
  if (!fpdu_begun) {
    fpdu_start = position;
    fpdu_begun = true;
  }
  return to_next_marker(position);
}

void Framer::State::append_marker() {
  // A marker before ULPDU_Length has an FPDUPTR of 0. The FPDUPTR of any other marker is the
  // distance of the marker from ULPDU_Length of the same FPDU. Markers and FPDUs begin at multiples
  // of 4. [MPA-22] [MPA-27] [MPA-28] [MPA-31]
  const auto fpduptr = static_cast<std::uint16_t>(fpdu_begun ? position - fpdu_start : 0);
  std::array<std::byte, kMarkerSize> octets;
  bytes::Writer marker(octets);  // [MPA-19]
  marker.u16(0);                 // [MPA-20]
  marker.u16(fpduptr);
  write_ring(octets, true);
  ++counters.markers;
}

/// Copies octets to the ring, and extends the CRC over them if `covered`. [MPA-44] If reading
/// `octets` faults, `position` does not include these octets yet, so drop_unsent() removes those
/// that were written.
void Framer::State::write_ring(View octets, bool covered) {
  while (!octets.empty()) {
    const std::size_t take = std::min(octets.size(), ring_size - ring_next);
    std::byte* to = ring.get() + ring_next;
    if (covered && options.crc) {
      crc = crc32c::copy_extend(crc, to, octets.first(take));
      counters.octets_crced += take;
    } else {
      std::memcpy(to, octets.data(), take);
    }
    push_piece({to, take}, true);
    position += take;
    ring_used += take;
    ring_next = ring_next + take == ring_size ? 0 : ring_next + take;
    octets = octets.subspan(take);
  }
}

/// Appends a piece to the gather list. If the piece begins in memory where the last piece of the
/// list ends, extends that last piece instead, so that many small FPDUs are sent as one piece.
/// [MPA-55]
inline void Framer::State::push_piece(View piece, bool is_in_ring) {
  if (!pieces.empty()) {
    View& last = pieces.back();
    if (last.data() + last.size() == piece.data() && in_ring(last) == is_in_ring) {
      last = {last.data(), last.size() + piece.size()};
      return;
    }
  }
  pieces.push_back(piece);
}

inline bool Framer::State::in_ring(View piece) const {
  const std::less<const std::byte*> before;
  return !before(piece.data(), ring.get()) && before(piece.data(), ring.get() + ring_size);
}

inline void Framer::State::begin_ring() {
  ring_next = 0;
  if (ring == nullptr) ring = take_ring(ring_size);
}

inline void Framer::State::end_ring() {
  if (ring != nullptr) give_ring(std::move(ring), ring_size);
}

/// Frees the ring octets of a piece that was sent or dropped. Octets leave the ring in the order in
/// which they were written.
inline void Framer::State::release(View left) {
  if (in_ring(left)) ring_used -= left.size();
}

/// Removes all queued octets but the first `keep`.
void Framer::State::cut_pieces(std::uint64_t keep) {
  std::size_t dropped_from_ring = 0;
  for (View& piece : pieces) {
    const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(keep, piece.size()));
    if (in_ring(piece)) dropped_from_ring += piece.size() - kept;
    piece = piece.first(kept);
    keep -= kept;
  }
  while (!pieces.empty() && pieces.back().empty()) pieces.pop_back();
  ring_used -= dropped_from_ring;
  ring_next = (ring_next + ring_size - dropped_from_ring) % ring_size;
  if (ring_used == 0) end_ring();
}

}  // namespace iwarp::mpa
