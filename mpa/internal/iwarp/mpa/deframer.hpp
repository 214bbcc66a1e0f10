// SPDX-License-Identifier: Apache-2.0
// Deframer: turns stream octets into verified ULPDUs (RFC 5044 sections 4.1 to 4.4, 5.2 and 6).
// plan() returns memory for the next octets, the caller reports with filled() how many have
// arrived, and next() examines the FPDUs in the staging area. A caller that knows the destination
// of a large payload before that payload has arrived may call place(); plan() then returns memory
// of the destination. The Deframer never interprets a ULPDU and never closes a connection
// [MPA-114]. After a Fault it returns no more ULPDUs [MPA-113].
//
// <!-- figure: source test/unit/mpa/stream.hpp | block inline void drain -->
// ```cpp
// inline void drain(mpa::Deframer& deframer, Received& into, std::size_t want_prefix = 18) {
//   while (!into.fault) {
//     const auto step = deframer.next(want_prefix);
//     if (!step) {
//       into.fault = step.error();
//       return;
//     }
//     if (*step == mpa::Step::kNeedMore) return;
//     if (*step == mpa::Step::kPartial) continue;
//     into.ulpdus.push_back(join(deframer.ulpdu()));
//     deframer.consume();
//   }
// }
// ```
// <!-- end -->
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/deframer_types.hpp"
#include "iwarp/mpa/layout.hpp"
#include "iwarp/mpa/placement.hpp"

namespace iwarp::mpa {

/// The largest want_prefix of next(), in octets.
inline constexpr std::size_t kMaxPrefix = 128;

/// The receiving half of MPA in full operation. Not thread-safe.
class Deframer {
 public:
  explicit Deframer(const DeframerOptions& options);
  ~Deframer();
  Deframer(const Deframer&) = delete;  // Nor can it be moved: views may point into it.

  /// Returns writable memory for the next octets of the stream, in order, valid until the next call
  /// that is not const. The memory is empty only after a Fault, or if has_room() is false. If
  /// `read_ahead` is false, the memory ends at the end of the current FPDU, or at the end of
  /// ULPDU_Length if that field has not arrived. With `read_ahead` false, the memory is also empty
  /// if all of the current FPDU has arrived. Throws std::bad_alloc.
  std::span<const bytes::Span> plan(bool read_ahead = true);

  /// Reports that the first `n` octets of the last plan() now hold stream data.
  void filled(std::size_t n);

  /// Copies `octets`, which arrived together with a startup frame, into the staging area, as if
  /// they had been received there. Returns how many octets it has copied: fewer than octets.size()
  /// if the staging area is full.
  std::size_t feed(bytes::View octets);

  /// Examines the next FPDU of the stream. Returns kPartial at most once per FPDU: as soon as
  /// min(want_prefix, ulpdu_length) octets of the ULPDU are staged, unless the FPDU is complete by
  /// then. Returns kUlpdu or kPlaced at each call until consume(). `want_prefix` must not exceed
  /// kMaxPrefix. Fails with the fault kCrcMismatch or kMarkerMismatch. The first fault is final,
  /// and every later call returns it.
  StepOrFault next(std::size_t want_prefix);

  /// Returns ULPDU_Length of the current FPDU. Call after kUlpdu, kPartial or kPlaced.
  std::size_t ulpdu_length() const { return ulpdu_length_; }
  /// Returns the first min(want_prefix, ulpdu_length) octets of the ULPDU, contiguous. After
  /// kPartial they are not verified yet, and are valid until the next call that is not const. After
  /// kUlpdu they are verified, and are valid until plan() or consume().
  bytes::View prefix() const { return prefix_; }
  /// Returns the whole ULPDU in pieces, in order: one piece, or more if there are markers in it.
  /// Call after kUlpdu. The pieces are valid until plan() or consume().
  std::span<const bytes::View> ulpdu() const { return ulpdu_; }

  /// Directs the payload to `target`. The payload is the ULPDU without its first `header_size`
  /// octets, and `target` has exactly as many octets: ulpdu_length() - header_size. Copies the
  /// payload that is already staged; plan() returns memory of `target` for the rest. Call at most
  /// once per FPDU, after next() has returned kPartial and before it returns kUlpdu. header_size is
  /// at most the want_prefix of kPartial. Even if CRCs are in use, `target` is written before the
  /// CRC has been checked; do not call place() where that is not acceptable.
  void place(std::size_t header_size, const bytes::Scatter& target);

  /// Stops using the memory given to place(): the rest of the FPDU is read into a scratch area. May
  /// allocate. Does nothing if no placement is in progress.
  void abandon_placement();

  /// Finishes the FPDU for which next() returned kUlpdu or kPlaced. Returns false if no octet is
  /// staged after that FPDU; next() would then return kNeedMore.
  bool consume();

  /// Lets FPDUs overtake the current one, for which next() has returned kUlpdu. For each whole FPDU
  /// behind it that no earlier call has offered, calls `take()`, which may call ulpdu_length(),
  /// prefix() and ulpdu() for that FPDU. If `take()` returns true, the FPDU counts as consumed.
  /// Stops before a faulty FPDU, whose fault next() reports when its turn comes. With markers, does
  /// nothing: the position of each marker depends on the octets before it.
  template <typename Take>
  void overtake(Take take) {
    overtake([](void* context) { return (*static_cast<Take*>(context))(); }, &take);
  }

  void rest();  ///< gives the staging area back if it is empty; the next plan() gets another one
  /// Returns whether the stream is exactly between two FPDUs and no octet is staged. If so, a FIN
  /// from the peer ends the stream cleanly.
  bool at_boundary() const { return phase_ == Phase::kFront && begin_ == end_; }
  /// Returns false while the staging area is full of FPDUs that wait for consume().
  bool has_room() const { return end_ != capacity_ || begin_ >= capacity_ / 2; }
  /// Returns the counters.
  const DeframerCounters& counters() const { return counters_; }

 private:
  /// The progress of the current FPDU, which is the first one that is not consumed.
  enum class Phase : std::uint8_t {
    kFront,    ///< ULPDU_Length has not arrived
    kStaging,  ///< ULPDU_Length is known, and the octets are collected in the staging area
    kUlpdu,    ///< the FPDU is verified, and next() has returned kUlpdu
    kPlacing,  ///< place() was called, and octets are still missing
    kPlaced,   ///< the placed FPDU is verified, and next() has returned kPlaced
    kFaulty,   ///< the FPDU broke a rule; nothing more is accepted
  };

  std::size_t front_size() const;
  bool is_staged() const { return end_ - begin_ >= fpdu_.wire_size(); }
  bool is_placed() const { return placement_.missing() == 0 && end_ - begin_ >= trailer_size(); }
  void read_length();
  void add(bytes::Span piece);
  void plan_stage(bool read_ahead);
  void plan_placement(bool read_ahead);
  std::size_t read_ahead_limit(std::size_t small) const;
  bool last_is_small() const { return last_wire_size_ < options_.exact_above; }
  void make_room(std::size_t wanted);
  void fill_placement(std::size_t n);
  StepOrFault finish(const bytes::Fault* wrong, Phase then, Step step);
  StepOrFault look_for_prefix();
  const bytes::Fault* verify_staged();
  const bytes::Fault* verify_placed();
  template <typename MarkerAt>
  bool markers_agree(MarkerAt marker_at) const;
  void overtake(bool (*take)(void*), void* context);
  void hand_out();
  void gather_ulpdu();
  void set_prefix();
  std::size_t trailer_size() const { return fpdu_.wire_size() - placement_.trailer_offset(); }
  DeframerOptions options_;
  std::size_t capacity_;
  std::unique_ptr<std::byte[]> stage_;  ///< null until plan() needs it
  std::size_t begin_ = 0;  ///< offset of the current FPDU; in kPlacing, of its trailer (PAD, CRC)
  std::size_t end_ = 0;    ///< offset in `stage_` just after the last octet received
  std::vector<bytes::Span> plan_;  ///< never resized after construction
  std::size_t plan_size_ = 0;      ///< 0 if the plan has to be rebuilt
  bool planned_ahead_ = false;
  std::vector<bytes::View> pieces_;  ///< pieces of the ULPDU; never resized after construction
  std::uint64_t position_;           ///< stream position where the current FPDU begins [MPA-32]
  std::uint64_t offered_to_ = 0;     ///< value of `position_` up to which overtake() has come
  Phase phase_ = Phase::kFront;
  FpduLayout fpdu_;
  bool partial_given_ = false;
  std::size_t want_prefix_ = 0;
  std::size_t ulpdu_length_ = 0;
  bytes::View prefix_;
  std::span<const bytes::View> ulpdu_;
  std::array<std::byte, kMaxPrefix> prefix_copy_;
  Placement placement_;
  std::size_t last_wire_size_ = 0;  ///< size of the previous FPDU, expected of the next one too
  /// Size of the FPDU before the previous one. If only the previous FPDU was small, it may have
  /// been the end of a large message.
  std::size_t wire_size_before_ = 0;
  bool places_ = false;                  ///< place() has been called before: read no payload ahead
  const bytes::Fault* fault_ = nullptr;  ///< in kFaulty, the rule that was broken
  DeframerCounters counters_;
};

}  // namespace iwarp::mpa
