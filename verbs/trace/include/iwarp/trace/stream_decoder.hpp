// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: a passive observer of one connection. Takes the stream octets of both ends, in any
// segmentation, and tells a listener of every frame in them: the MPA startup frames (RFC 5044
// section 7.1), from which it learns CRC and markers, then FPDUs (section 4).
// Unlike mpa::Deframer it goes on behind a bad CRC, keeps the octets as they were on the wire, and
// has no opinion on what a peer should have done. Of a capture it can be told which octets are
// missing, and then looks for the next frame. It never speaks, stores no frame, reads no clock.
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

struct DecoderOptions {
  /// For captures: where no frame can be found, look for the next one instead of giving up. Frames
  /// are then found in streams whose startup was not seen, too.
  bool search = false;
};

class StreamDecoder {
 public:
  /// Called once for each frame. Views in it are valid during the call; it must not call the
  /// decoder.
  using Listener = std::function<void(const Frame&)>;

  explicit StreamDecoder(Listener listener, const DecoderOptions& options = {});
  ~StreamDecoder();

  /// The next octets that `from` sent.
  void octets(Side from, bytes::View octets);
  /// That side closed or reset: a frame that is not complete is given as kUndecodable.
  void ended(Side from);
  /// `from` sent `count` octets here that were not captured.
  void missing(Side from, std::uint64_t count);

  /// A frame was found, of either side.
  bool is_mpa() const { return found_; }
  /// Nothing will be found any more.
  bool is_lost(Side side) const { return direction(side).phase == Phase::kLost; }

  /// Octets held back because their frame is not complete; bounded by kMaxHeld.
  std::size_t held(Side side) const { return direction(side).held.size(); }

  /// FPDUs whose sender's peer has sent no startup frame yet cannot be read (it says whether there
  /// are markers). No stack sends more than one such flight.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  /// Octets of a side in which frames are looked for as long as none was found.
  static constexpr std::uint64_t kMaxSearched = 64 * 1024;

 private:
  /// Steps in a row that consume no octet. One more is a loop without end.
  static constexpr unsigned kMaxTurns = 4;

  enum class Phase : std::uint8_t { kStartup, kFpdus, kSearch, kLost };
  enum class Late : std::uint8_t { kNo, kPerhaps, kYes };
  struct Said {  ///< what its startup frame said
    mpa::FrameKind kind;
    bool markers;
    bool crc;
  };
  struct Format {  ///< of the FPDUs of one direction
    bool marked;
    bool crc;
    bool guessed;
    std::uint64_t proof = 0;  ///< octets of FPDUs that bore the guess out, or followed each other
  };
  struct Hole {  ///< offsets in the TCP stream
    std::uint64_t begin, end;
  };
  struct Direction {
    Phase phase = Phase::kStartup;
    std::vector<std::byte> held;
    bytes::View input;            ///< what is looked at now: `held`, or what was just given
    std::size_t begin = 0;        ///< first octet of `input` that is in no frame yet
    std::uint64_t offset = 0;     ///< of that octet in the TCP stream
    std::uint64_t position = 0;   ///< of that octet in full operation
    std::uint64_t refused = 0;    ///< no FPDU begins before this offset
    std::uint64_t fpdus = 0;      ///< since the startup frame
    bool crcs_uncounted = false;  ///< `position` is without the CRC fields, see Frame::markers_late
    bool unsure = false;          ///< only headers in a row tell where FPDUs begin
    bool doubtful = false;        ///< the FPDU before had a bad CRC, or was not all seen
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
