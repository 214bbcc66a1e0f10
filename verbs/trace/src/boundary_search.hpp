// SPDX-License-Identifier: Apache-2.0
// BoundarySearch: finds the first frame in octets that may begin in the middle of a frame, as in a
// capture that started late or lacks a part. The search accepts an FPDU with a correct CRC if the
// header of another FPDU follows. If CRCs are off, the search accepts an FPDU whose header is the
// first of several headers in a row. (RFC 5044 section 6 requires more certainty of a receiver,
// because a receiver places the payload.) The work for each octet is bounded, whatever the octets
// are.
#pragma once

#include <cstdint>
#include <optional>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::trace {

struct Boundary {
  enum class Kind : std::uint8_t {
    kNone,  ///< no frame begins in the first `at` octets of the input
    kMore,  ///< no frame begins before `at`; whether one begins at `at` depends on octets to come
    kStartup,  ///< an MPA Request or Reply begins at `at`
    kFpdu,     ///< an FPDU begins at `at`
  };
  Kind kind = Kind::kNone;
  std::size_t at = 0;
  // The following members are set for kFpdu only.
  bool marked = false;
  bool crc = false;            ///< the CRC of the FPDU is correct
  std::uint64_t position = 0;  ///< if `marked`, the position of `at`, modulo the marker interval
};

/// Returns whether the two control octets are valid, so that an FPDU may begin at the first octet.
/// `in` must contain the control octets. `lead` is the size of a leading marker, or 0 if there is
/// none.
bool starts_like_fpdu(bytes::View in, std::size_t lead);
/// Returns whether `ulpdu` has a valid DDP header, and may therefore be a ULPDU. The header must
/// not contain markers.
bool plausible_header(bytes::View ulpdu);
/// The number of octets that starts_like_fpdu() needs after the leading marker.
inline constexpr std::size_t kFpduStartSize = mpa::kLengthFieldSize + 2;

class BoundarySearch {
 public:
  /// Facts about the stream that the caller knows before the search.
  struct Hints {
    std::optional<bool> marked;
    std::optional<bool> crc;                ///< whether CRCs are in use
    std::optional<std::uint64_t> position;  ///< position of the first octet, see Frame::position
    bool startup = true;                    ///< a startup frame may follow
    std::size_t from = 0;                   ///< no frame begins before this octet
  };

  /// Finds the first frame in `in`. `last` means that no octets follow; the result is then not
  /// kMore.
  Boundary find(bytes::View in, const Hints& hints, bool last);

 private:
  enum class Trial : std::uint8_t { kNo, kMore, kYes };
  struct Guess {
    std::optional<std::uint64_t> position;  ///< empty without markers
    std::optional<bool> crc_used;
  };

  Trial try_fpdu(bytes::View in, const Guess& place, bool last, Boundary& found);
  Trial try_unknown_markers(bytes::View in, const Hints& hints, bool last, Boundary& found);
  Trial try_run(bytes::View in, const Guess& place, bool last);
  bool can_afford(std::size_t octets);

  std::uint64_t searched_ = 0;  ///< number of positions at which no frame was found
  std::uint64_t work_ = 0;      ///< number of octets over which CRCs were computed
};

}  // namespace iwarp::trace
