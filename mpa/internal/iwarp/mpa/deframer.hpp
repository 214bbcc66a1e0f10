// SPDX-License-Identifier: Apache-2.0
// Deframer: stream octets in, verified ULPDUs out (RFC 5044 sections 4.1 to 4.4, 5.2 and 6).
// plan() says where the next octets go, filled() says how many arrived, next() returns FPDUs from a
// staging area. An owner that knows the destination of a large payload before it has arrived may
// call place(); the plan then points straight there. The deframer never interprets a ULPDU, never
// closes anything [MPA-114], and after a Fault returns nothing more [MPA-113].
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "iwarp/bytes/fault.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::mpa {

/// Options of a Deframer.
struct DeframerOptions {
  bool markers = false;  ///< this end asked for markers (M): strip and check them [MPA-34] [MPA-58]
  bool crc = true;       ///< negotiated on: check it before anything is handed up [MPA-46]
  /// Octets of the staging area; raised to the size of the largest FPDU with markers.
  std::size_t stage = 256 * 1024;
  /// In and after an FPDU of at least this many octets the plan ends where an FPDU ends, or is
  /// expected to end: octets read beyond would have to be moved. Smaller FPDUs are read ahead
  /// freely.
  std::size_t exact_above = 16 * 1024;
  std::uint64_t position = 0;  ///< stream position to begin at, a multiple of 4 (tests)
};

/// Totals since the Deframer was made.
struct DeframerCounters {
  std::uint64_t fpdus = 0;
  std::uint64_t markers = 0;
  std::uint64_t pad_octets = 0;
  std::uint64_t octets = 0;         ///< stream octets received
  std::uint64_t octets_copied = 0;  ///< moved inside the stage, or from it to a placement
  std::uint64_t octets_crced = 0;   ///< covered by a CRC that was computed
};

/// Result of Deframer::next().
enum class Step : std::uint8_t {
  kNeedMore,  ///< nothing to do until more octets are filled()
  kPartial,   ///< part of an FPDU has arrived: prefix() is valid and place() is permitted
  kUlpdu,     ///< a whole verified ULPDU is staged: use ulpdu(), then consume()
  kPlaced,    ///< the FPDU for which place() was called is complete and verified: consume()
};

/// A Step, or the Fault instead of one: a std::expected that is returned in registers.
class [[nodiscard]] StepOrFault {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  StepOrFault(Step step) : step_(step) {}
  explicit StepOrFault(const bytes::Fault* fault) : fault_(fault) {}  ///< not null

  /// Returns whether there is no Fault.
  explicit operator bool() const { return fault_ == nullptr; }
  Step operator*() const { return step_; }  ///< kNeedMore if there is a Fault
  /// Returns the Fault, which lives as long as the Deframer.
  const bytes::Fault& error() const { return *fault_; }

 private:
  const bytes::Fault* fault_ = nullptr;
  Step step_ = Step::kNeedMore;
};

/// The longest prefix, in octets, that next() can be asked for.
inline constexpr std::size_t kMaxPrefix = 128;

/// The receiving half of MPA in full operation. Not thread-safe.
class Deframer {
 public:
  /// Allocates the staging area. Throws std::bad_alloc.
  explicit Deframer(const DeframerOptions& options);
  ~Deframer();
  Deframer(Deframer&&) noexcept;
  Deframer& operator=(Deframer&&) noexcept;

  /// Returns writable memory for the next octets of the stream, in order, valid until the next call
  /// that is not const. Empty only after a Fault, or while the stage is full of FPDUs that wait for
  /// consume(). With `read_ahead` false it ends with the present FPDU (or length field), and is
  /// empty if that FPDU has arrived.
  std::span<const bytes::Span> plan(bool read_ahead = true);

  /// The first `n` octets of the last plan() now hold stream data.
  void filled(std::size_t n);

  /// Copies `octets`, which arrived together with a startup frame, as if they had been read.
  /// Returns how many there was room for.
  std::size_t feed(bytes::View octets);

  /// Examines the next FPDU of the stream. Returns kPartial at most once per FPDU, as soon as
  /// min(want_prefix, ulpdu_length) octets of the ULPDU are staged and the FPDU is not complete;
  /// repeats kUlpdu and kPlaced until consume(). want_prefix <= kMaxPrefix. Fails with the faults
  /// kCrcMismatch or kMarkerMismatch; the first one is final and returned by every later call.
  StepOrFault next(std::size_t want_prefix);

  /// After kUlpdu, kPartial and kPlaced: returns ULPDU_Length of the present FPDU.
  std::size_t ulpdu_length() const { return in_hand_->ulpdu_length; }
  /// Returns the first min(want_prefix, ulpdu_length) octets of the ULPDU, contiguous. After
  /// kPartial: unverified, valid until the next call that is not const. After kUlpdu: verified,
  /// valid until consume().
  bytes::View prefix() const { return in_hand_->prefix; }
  /// After kUlpdu: returns the whole ULPDU in pieces (one unless markers are interleaved), in
  /// order, valid until consume().
  std::span<const bytes::View> ulpdu() const { return in_hand_->ulpdu; }

  /// Once after kPartial and before kUlpdu: makes the payload after the first `header_size` octets
  /// of the ULPDU go to `target`, which has ulpdu_length() - header_size octets. Copies what is
  /// already staged; the plan leads the rest there. With CRC on this is direct placement, which is
  /// the caller's decision. header_size is at most the want_prefix of kPartial.
  void place(std::size_t header_size, const bytes::Scatter& target);

  /// Stops using the memory given to place(): the rest of the FPDU is read into a scratch area. May
  /// allocate. Does nothing if no placement is in progress.
  void abandon_placement();

  /// Finishes the FPDU of kUlpdu or kPlaced. Returns false if nothing is staged after it, so that
  /// next() would return kNeedMore.
  bool consume();

  /// Returns whether the stream is exactly between two FPDUs and nothing is staged: a FIN here is
  /// clean.
  bool at_boundary() const;
  /// Returns how many octets are staged and not consumed.
  std::size_t staged_octets() const;
  /// Returns the counters.
  const DeframerCounters& counters() const;

 private:
  /// The FPDU at the front.
  struct InHand {
    std::size_t ulpdu_length = 0;
    bytes::View prefix;
    std::span<const bytes::View> ulpdu;
  };
  struct State;
  std::unique_ptr<State> state_;
  const InHand* in_hand_;  ///< in *state_
};

}  // namespace iwarp::mpa
