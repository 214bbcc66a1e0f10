// SPDX-License-Identifier: Apache-2.0
// BoundarySearch: finds where a frame begins in octets that start anywhere, as in a capture that
// started late or lacks a part (RFC 5044 section 6 requires more certainty of a receiver that acts
// on an FPDU than an observer needs). A right CRC and what follows it decide; where CRCs are off, a
// run of headers does. Does bounded work for each octet, whatever the octets are.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::trace {

struct Boundary {
  enum class Kind : std::uint8_t {
    kNone,     ///< no frame begins in the first `at` octets
    kMore,     ///< nor in these, but one may begin at `at`: more octets are needed
    kStartup,  ///< an MPA Request or Reply begins at `at`
    kFpdu,     ///< an FPDU begins at `at`
  };
  Kind kind = Kind::kNone;
  std::size_t at = 0;
  // kFpdu
  bool marked = false;
  bool crc = false;            ///< its CRC is right
  std::uint64_t position = 0;  ///< of `at`, modulo the marker interval; if kFpdu and marked
};

/// Returns whether an FPDU may begin here, judging by the two control octets. Needs the octets up
/// to them; `lead` is the size of a leading marker.
bool starts_like_fpdu(bytes::View in, std::size_t lead);
/// Returns the same for a whole header, which no marker interrupts.
bool plausible_header(bytes::View ulpdu);
/// The number of octets that starts_like_fpdu() needs after the leading marker.
inline constexpr std::size_t kFpduStartSize = mpa::kLengthFieldSize + 2;

class BoundarySearch {
 public:
  /// What the caller knows beforehand.
  struct Hints {
    std::optional<bool> marked;
    std::optional<bool> crc;                ///< whether CRCs are in use
    std::optional<std::uint64_t> position;  ///< of the first octet, in full operation
    bool startup = true;                    ///< startup frames are possible
    std::size_t from = 0;                   ///< no frame begins before this octet
  };

  /// `last` says that no octets follow.
  Boundary find(bytes::View in, const Hints& hints, bool last);

 private:
  enum class Trial : std::uint8_t { kNo, kMore, kYes };
  struct Place {
    std::optional<std::uint64_t> position;  ///< empty without markers
    std::optional<bool> crc_used;
  };

  Trial try_fpdu(bytes::View in, const Place& place, bool last, Boundary& found);
  Trial try_marked(bytes::View in, const Hints& hints, std::size_t at, bool last, Boundary& found);
  Trial try_unknown_markers(bytes::View in, const Hints& hints, bool last, Boundary& found);
  Trial try_run(bytes::View in, const Place& place, bool last);
  bool can_afford(std::size_t octets);

  std::uint64_t searched_ = 0;  ///< octets in which no frame began
  std::uint64_t work_ = 0;      ///< octets over which CRCs were computed
};

}  // namespace iwarp::trace
