// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: a passive observer of one connection. It receives the stream octets of both ends,
// in any segmentation, and reports every frame in them to a listener: the MPA startup frames (RFC
// 5044 section 7.1), which say whether CRCs and markers are used, and then the FPDUs (section 4).
// Unlike mpa::Deframer, the decoder continues after a bad CRC, reports the octets on the wire
// unchanged, and does not judge whether a peer should have sent them. The reader of a capture can
// report which octets are missing; the decoder then searches for the next frame. The decoder sends
// nothing, stores no reported frame and reads no clock.
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
  /// If no frame begins at the expected octet, the decoder searches for the next frame instead of
  /// giving up. Set this for captures. The search also finds frames in streams whose startup was
  /// not captured.
  bool search = false;
};

/// Finds the frames in the two octet streams of a connection. Not thread-safe.
class StreamDecoder {
 public:
  /// The decoder calls the listener once for each frame. The views in the frame are valid only
  /// during the call. The listener must not call the decoder.
  using Listener = std::function<void(const Frame&)>;

  /// Reports each frame to `listener`, in the order in which the frames become complete.
  explicit StreamDecoder(Listener listener, const DecoderOptions& options = {});
  ~StreamDecoder();

  /// Processes the next octets that `from` sent.
  void octets(Side from, bytes::View octets);
  /// Call when `from` has closed or reset the connection. Reports a frame that is not complete as
  /// kUndecodable.
  void ended(Side from);
  /// Call instead of octets() when the next `count` octets that `from` sent were not captured.
  void missing(Side from, std::uint64_t count);

  /// Returns whether a frame of either side was found.
  bool is_mpa() const { return found_; }
  /// Returns whether the decoder has given up on finding frames of `side`.
  bool is_lost(Side side) const { return direction(side).phase == Phase::kLost; }

  /// Returns how many octets are stored because their frame is not complete; at most kMaxHeld.
  std::size_t held(Side side) const { return direction(side).held.size(); }

  /// Maximum number of octets stored for a side. The decoder stores FPDUs until the startup frame
  /// of their receiver says whether the receiver wants markers. No known stack sends more octets
  /// than this before it has received that startup frame.
  static constexpr std::size_t kMaxHeld = 256 * 1024;
  /// If the decoder finds no frame in this number of octets of a side, it ends the search.
  static constexpr std::uint64_t kMaxSearched = 64 * 1024;

 private:
  /// Maximum number of consecutive calls of step() that consume no octet. A higher number would
  /// mean an endless loop, which an assertion detects.
  static constexpr unsigned kMaxTurns = 4;

  enum class Phase : std::uint8_t { kStartup, kFpdus, kSearch, kLost };
  enum class Late : std::uint8_t { kNo, kPerhaps, kYes };
  struct Said {  ///< the contents of a side's startup frame
    mpa::FrameKind kind{};
    bool markers{};
    bool crc{};
  };
  struct Format {  ///< the format of the FPDUs of one direction
    bool marked{};
    bool crc{};
    bool guessed{};
    std::uint64_t proof = 0;  ///< number of octets in FPDUs that have confirmed the format
  };
  struct Hole {  ///< octets that were not seen, as offsets in the TCP stream
    std::uint64_t begin, end;
  };
  struct Direction {
    Phase phase = Phase::kStartup;
    std::vector<std::byte> held{};
    bytes::View input{};          ///< the octets being decoded: `held`, or the argument of octets()
    std::size_t begin = 0;        ///< index of the first octet of `input` that is in no frame yet
    std::uint64_t offset = 0;     ///< offset of the octet at `begin` in the TCP stream
    std::uint64_t position = 0;   ///< position of the octet at `begin`, see Frame::position
    std::uint64_t refused = 0;    ///< no FPDU begins before this offset
    std::uint64_t fpdus = 0;      ///< number of FPDUs since the startup frame
    bool crcs_uncounted = false;  ///< `position` excludes the CRC fields, see Frame::markers_late
    bool unsure = false;          ///< see Frame::unsure
    bool doubtful = false;        ///< the previous FPDU had a bad CRC or was not seen completely
    bool position_known = false;
    bool ended = false;
    std::vector<Hole> holes{};
    std::uint64_t searched = 0;
    std::optional<Said> said{};
    std::optional<Format> format{};
    std::unique_ptr<BoundarySearch> search{};
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
  bool lose(Side side, const char* why, bool permanently = false);
  void emit(Side side, Frame& frame);
  void see(Frame& frame, const Direction& d, const mpa::FpduLayout& layout);

  Listener listener_;
  DecoderOptions options_;
  bool found_ = false;
  std::array<Direction, 2> directions_;
  std::vector<std::byte> unmarked_;
};

}  // namespace iwarp::trace
