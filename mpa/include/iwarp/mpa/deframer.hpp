// SPDX-License-Identifier: Apache-2.0
// Deframer: stream octets in, verified ULPDUs out (RFC 5044 sections 4.1 to 4.4, 5.2 and 6).
// It says where the next octets go (plan), is told how many came (filled), and gives FPDUs (next).
// Verified FPDUs are handed out from a staging area. When the owner knows the final place of a
// large payload before it has arrived it may call place(), and the plan then points straight there.
// It never interprets a ULPDU, never closes anything [MPA-114], and after a Fault gives nothing
// more [MPA-113].
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "iwarp/bytes/fault.hpp"
#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::mpa {

struct DeframerOptions {
  bool markers = false;  ///< we asked for markers (M): strip and check them [MPA-34] [MPA-58]
  bool crc = true;       ///< negotiated on: check before anything is handed up [MPA-46]
  /// Staging octets; a smaller value than one largest FPDU with markers is raised to that.
  std::size_t stage = 256 * 1024;
  /// In and after an FPDU of at least this size the plan ends where an FPDU ends, or is expected to
  /// end: what is read beyond would have to be moved. Smaller FPDUs are read ahead freely.
  std::size_t exact_above = 16 * 1024;
  std::uint64_t position = 0;  ///< stream position to begin at, a multiple of 4 (tests)
};

struct DeframerCounters {
  std::uint64_t fpdus = 0;
  std::uint64_t markers = 0;
  std::uint64_t pad_octets = 0;
  std::uint64_t octets = 0;         ///< stream octets taken in
  std::uint64_t octets_copied = 0;  ///< moved inside the stage or from it to a placement
  std::uint64_t octets_crced = 0;
};

/// What next() found.
enum class Step : std::uint8_t {
  kNeedMore,  ///< nothing to do until more octets were filled()
  kPartial,   ///< an FPDU is under way; prefix() is there and place() is permitted
  kUlpdu,     ///< a whole verified ULPDU is staged: ulpdu(), then consume()
  kPlaced,    ///< the FPDU that place() was called for is complete (and verified): consume()
};

/// A Step, or the Fault in its place; as std::expected has it, but returned in registers.
class [[nodiscard]] StepOrFault {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  StepOrFault(Step step) : step_(step) {}
  explicit StepOrFault(const bytes::Fault* fault) : fault_(fault) {}  ///< not null

  explicit operator bool() const { return fault_ == nullptr; }
  Step operator*() const { return step_; }  ///< kNeedMore where there is a Fault
  /// Lives as long as the Deframer.
  const bytes::Fault& error() const { return *fault_; }

 private:
  const bytes::Fault* fault_ = nullptr;
  Step step_ = Step::kNeedMore;
};

/// The longest prefix that next() can be asked for.
inline constexpr std::size_t kMaxPrefix = 128;

class Deframer {
 public:
  explicit Deframer(const DeframerOptions& options);
  ~Deframer();
  Deframer(Deframer&&) noexcept;
  Deframer& operator=(Deframer&&) noexcept;

  /// Writable memory for the next octets of the stream, in order; never empty unless a Fault was
  /// given or the stage is full of FPDUs that wait for consume(). Valid until the next non-const
  /// call. `read_ahead` false: stop at the end of the present FPDU (or length field); empty when
  /// that FPDU is there already.
  std::span<const bytes::Span> plan(bool read_ahead = true);

  /// The first `n` octets of the last plan() now hold stream data.
  void filled(std::size_t n);

  /// Copies `octets` in as if they had been read: for what arrived together with a startup frame.
  /// Returns how many fitted.
  std::size_t feed(bytes::View octets);

  /// Looks at the next FPDU of the stream. Faults: kCrcMismatch, kMarkerMismatch; the first one is
  /// final and is returned for ever. kPartial is given at most once per FPDU, as soon as at least
  /// min(want_prefix, ulpdu_length) octets of the ULPDU are staged and the FPDU is not complete.
  /// kUlpdu and kPlaced are repeated until consume(). want_prefix <= kMaxPrefix.
  StepOrFault next(std::size_t want_prefix);

  /// After kUlpdu, kPartial and kPlaced: ULPDU_Length of the FPDU in hand.
  std::size_t ulpdu_length() const { return in_hand_->ulpdu_length; }
  /// The first min(want_prefix, ulpdu_length) octets of the ULPDU, contiguous. After kPartial:
  /// unverified, valid until the next non-const call. After kUlpdu: verified, valid until
  /// consume().
  bytes::View prefix() const { return in_hand_->prefix; }
  /// After kUlpdu: the whole ULPDU in pieces (one unless markers are interleaved), in order.
  /// Valid until consume().
  std::span<const bytes::View> ulpdu() const { return in_hand_->ulpdu; }

  /// Once after kPartial and before kUlpdu: payload behind the first `header_size` octets of the
  /// ULPDU goes to `target` (total: ulpdu_length() - header_size). What is already staged is copied
  /// there; the plan leads the rest there. With CRC on this is direct placement, the caller's
  /// decision. header_size is at most what kPartial was asked for.
  void place(std::size_t header_size, const bytes::Scatter& target);

  /// The memory given to place() must not be touched any more: the rest of the FPDU is read into
  /// a scratch area instead. May allocate. Without effect when no place() is under way.
  void abandon_placement();

  /// Done with the FPDU of kUlpdu or kPlaced. False: nothing is staged behind it, so the next step
  /// is kNeedMore.
  bool consume();

  /// True when the stream stands exactly between two FPDUs and nothing is staged: a FIN here is
  /// clean.
  bool at_boundary() const;
  /// Octets staged and not consumed.
  std::size_t staged_octets() const;
  const DeframerCounters& counters() const;

 private:
  /// What is known of the FPDU in hand.
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
