// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: a passive observer of one connection. Takes the stream octets of both ends, in any
// segmentation, and reports every frame in them to a listener: the MPA startup frames (RFC 5044
// section 7.1), from which it learns CRC and markers, then FPDUs (section 4). Unlike mpa::Deframer
// it continues after a bad CRC, keeps the octets as they were on the wire, and does not judge what
// a peer should have done. For a capture it can be told which octets are missing, and then searches
// for the next frame. It sends nothing, stores no frame and reads no clock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/layout.hpp"
#include "iwarp/trace/frame.hpp"

namespace iwarp::trace {

class BoundarySearch;

/// How a StreamDecoder treats octets in which it finds no frame.
struct DecoderOptions {
  /// For captures: where no frame can be found, search for the next one instead of giving up. This
  /// also finds frames in streams whose startup was not seen.
  bool search = false;
};

/// Finds the frames in the two octet streams of a connection. Not thread-safe.
class StreamDecoder {
 public:
  /// Called once for each frame. Its views are valid during the call, which must not call the
  /// decoder.
  using Listener = std::function<void(const Frame&)>;

  /// Reports each frame to `listener`, in the order in which the frames become complete.
  explicit StreamDecoder(Listener listener, const DecoderOptions& options = {});
  ~StreamDecoder();

  /// Takes the next octets that `from` sent.
  void octets(Side from, bytes::View octets);
  /// That side closed or reset. A frame that is not complete is reported as kUndecodable.
  void ended(Side from);
  /// `from` sent `count` octets at this place that were not captured.
  void missing(Side from, std::uint64_t count);

  /// Returns whether a frame of either side was found.
  bool is_mpa() const { return found_; }
  /// Returns whether no further frame of `side` can be found.
  bool is_lost(Side side) const { return direction(side).phase == Phase::kLost; }

  /// Returns how many octets are held because their frame is not complete; bounded by kMaxHeld.
  std::size_t held(Side side) const { return direction(side).held.size(); }

  /// FPDUs cannot be read before the peer of their sender has sent its startup frame, which says
  /// whether there are markers. No stack sends more than one such flight.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  /// How many octets of a side are searched before the first frame is found.
  static constexpr std::uint64_t kMaxSearched = 64 * 1024;

 private:
  /// Consecutive steps that consume no octet. One more would be an endless loop.
  static constexpr unsigned kMaxTurns = 4;

  enum class Phase : std::uint8_t { kStartup, kFpdus, kSearch, kLost };
  enum class Late : std::uint8_t { kNo, kPerhaps, kYes };
  struct Said {  ///< the contents of a side's startup frame
    mpa::FrameKind kind;
    bool markers;
    bool crc;
  };
  struct Format {  ///< of the FPDUs of one direction
    bool marked;
    bool crc;
    bool guessed;
    std::uint64_t proof = 0;  ///< octets of FPDUs that confirmed the guess, or followed each other
  };
  struct Hole {  ///< offsets in the TCP stream
    std::uint64_t begin, end;
  };
  struct Direction {
    Phase phase = Phase::kStartup;
    std::vector<std::byte> held;
    bytes::View input;            ///< the octets being decoded: `held`, or those just passed in
    std::size_t begin = 0;        ///< first octet of `input` that is in no frame yet
    std::uint64_t offset = 0;     ///< of that octet in the TCP stream
    std::uint64_t position = 0;   ///< position of that octet in full operation
    std::uint64_t refused = 0;    ///< no FPDU begins before this offset
    std::uint64_t fpdus = 0;      ///< since the startup frame
    bool crcs_uncounted = false;  ///< `position` is without the CRC fields, see Frame::markers_late
    bool unsure = false;          ///< FPDUs are found by headers in a row only
    bool doubtful = false;        ///< the previous FPDU had a bad CRC, or was not all seen
    bool position_known = false;
    bool ended = false;
    std::vector<Hole> holes;
    std::uint64_t searched = 0;
    std::optional<Said> said;
    std::optional<Format> format;
    std::unique_ptr<BoundarySearch> search;
    const char* why = "";
  };

  Direction& direction(Side side) { return directions_[static_cast<std::size_t>(side)]; }
  const Direction& direction(Side side) const {
    return directions_[static_cast<std::size_t>(side)];
  }

  void advance(Side side, bytes::View fresh);
  bool step(Side side);
  bool step_startup(Side side, bytes::View in);
  bool step_fpdus(Side side, bytes::View in);
  bool step_fpdu(Side side, bytes::View in);
  bool step_search(Side side, bytes::View in);
  Late find_late_markers(Direction& d, bytes::View in);
  bool give_up(Side side, bytes::View octets);
  void learn(Side side, const mpa::StartupFrame& frame);
  bool refuse(Side side, const char* why);
  bool lose(Side side, const char* why, bool for_good = false);
  void emit(Side side, Frame& frame);
  void see(Frame& frame, const Direction& d, const mpa::FpduLayout& layout);

  Listener listener_;
  DecoderOptions options_;
  bool found_ = false;
  std::array<Direction, 2> directions_;
  std::vector<std::byte> unmarked_;
};

}  // namespace iwarp::trace
