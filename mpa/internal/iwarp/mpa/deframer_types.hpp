// SPDX-License-Identifier: Apache-2.0
// The types of a Deframer: its options, its counters, and the results of Deframer::next().
#pragma once

#include <cstddef>
#include <cstdint>

#include "iwarp/bytes/fault.hpp"

namespace iwarp::mpa {

/// Options of a Deframer.
struct DeframerOptions {
  /// This end asked for markers (M bit), which the Deframer checks and strips [MPA-34] [MPA-58]
  bool markers = false;
  bool crc = true;  ///< CRCs were negotiated: the CRC is checked before the ULPDU is used [MPA-46]
  /// Size of the staging area in octets. The Deframer raises a smaller value to the size of the
  /// largest FPDU with markers.
  std::size_t stage = 256 * 1024;
  /// An FPDU of at least this many octets is large. While a large FPDU arrives, the memory from
  /// plan() ends at the end of that FPDU. After a large FPDU, the memory ends where the next FPDU
  /// is expected to end, because octets read beyond that point would have to be moved. After a
  /// smaller FPDU, plan() returns all of the free staging area.
  std::size_t exact_above = 16 * 1024;
  std::uint64_t position = 0;  ///< for tests: first stream position, a multiple of 4
};

/// Totals since the Deframer was made.
struct DeframerCounters {
  std::uint64_t fpdus = 0;
  std::uint64_t markers = 0;
  std::uint64_t pad_octets = 0;
  std::uint64_t octets = 0;  ///< stream octets received
  /// Octets moved inside the staging area, or from it to the memory given to place().
  std::uint64_t octets_copied = 0;
  std::uint64_t octets_crced = 0;  ///< octets over which a CRC was computed
};

/// Result of Deframer::next().
enum class Step : std::uint8_t {
  kNeedMore,  ///< nothing to do until filled() has reported more octets
  kPartial,   ///< part of an FPDU has arrived: prefix() is valid and place() is permitted
  kUlpdu,     ///< a whole verified ULPDU is staged: call ulpdu(), then consume()
  kPlaced,    ///< the FPDU that place() directed is complete and verified: call consume()
};

/// A Step or a Fault, like std::expected, but small enough to be returned in registers.
class [[nodiscard]] StepOrFault {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  StepOrFault(Step step) : step_(step) {}
  explicit StepOrFault(const bytes::Fault* fault) : fault_(fault) {}  ///< `fault` is not null

  /// Returns whether there is no Fault.
  explicit operator bool() const { return fault_ == nullptr; }
  Step operator*() const { return step_; }  ///< returns kNeedMore if there is a Fault
  /// Returns the Fault, which lives as long as the Deframer.
  const bytes::Fault& error() const { return *fault_; }

 private:
  const bytes::Fault* fault_ = nullptr;
  Step step_ = Step::kNeedMore;
};

}  // namespace iwarp::mpa
