// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: a passive observer of one connection. Takes the stream octets of both ends, in any
// segmentation, and tells a listener of every frame in them: the MPA startup frames (RFC 5044
// section 7.1), from which it learns CRC and markers, then FPDUs (section 4).
// Unlike mpa::Deframer it goes on behind a bad CRC, keeps the octets as they were on the wire, and
// has no opinion on what a peer should have done. It never speaks, stores no frame, reads no clock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_frame.hpp"

namespace iwarp::trace {

/// The two ends of the connection, seen from whoever observes it.
enum class Side : std::uint8_t { kNear, kFar };
constexpr Side other(Side side) { return side == Side::kNear ? Side::kFar : Side::kNear; }

enum class FrameKind : std::uint8_t {
  kStartup,      ///< an MPA Request or Reply
  kFpdu,         ///< one FPDU, whatever its CRC says
  kUndecodable,  ///< octets in which no frame can be found; all that follow are given this way too
};

enum class CrcVerdict : std::uint8_t {
  kGood,
  kBad,
  kNotUsed,  ///< negotiated off: the field is there and says nothing
};

/// One frame. All octets of a side are in exactly one Frame, in order.
struct Frame {
  Side from = Side::kNear;
  FrameKind kind = FrameKind::kUndecodable;
  std::uint64_t offset = 0;  ///< of the first octet in the TCP stream of that side
  bytes::View octets;        ///< as they were on the wire

  mpa::StartupFrame startup;  ///< kStartup

  // kFpdu
  std::uint64_t position = 0;           ///< of the first octet in full operation, markers counted
  bytes::View ulpdu;                    ///< contiguous, markers taken out
  bool marked = false;                  ///< this direction carries markers
  std::vector<std::uint16_t> fpduptrs;  ///< what the markers in this FPDU say, in order
  bool markers_agree = true;            ///< every marker points at this FPDU's ULPDU_Length
  CrcVerdict crc = CrcVerdict::kNotUsed;
  std::uint32_t crc_field = 0;

  const char* why = "";  ///< kUndecodable: the reason, a static string
};

class StreamDecoder {
 public:
  /// Called once for each frame. Views in it are valid during the call; it must not call the
  /// decoder.
  using Listener = std::function<void(const Frame&)>;

  explicit StreamDecoder(Listener listener);

  /// The next octets that `from` sent.
  void octets(Side from, bytes::View octets);
  /// That side closed or reset: a frame that is not complete is given as kUndecodable.
  void ended(Side from);

  /// Octets held back because their frame is not complete; bounded by kMaxHeld.
  std::size_t held(Side side) const { return direction(side).held.size(); }

  /// FPDUs whose sender's peer has sent no startup frame yet cannot be read (it says whether there
  /// are markers). No stack sends more than one such flight.
  static constexpr std::size_t kMaxHeld = 256 * 1024;

 private:
  enum class Phase : std::uint8_t { kStartup, kFpdus, kLost };
  struct Said {  ///< what its startup frame said
    mpa::FrameKind kind;
    bool markers;
    bool crc;
  };
  struct Direction {
    Phase phase = Phase::kStartup;
    std::vector<std::byte> held;
    std::size_t begin = 0;       ///< first octet of `held` that is in no frame yet
    std::uint64_t offset = 0;    ///< of that octet in the TCP stream
    std::uint64_t position = 0;  ///< of that octet in full operation
    bool doubtful = false;       ///< the FPDU before had a bad CRC
    std::optional<Said> said;
    const char* why = "";
  };

  Direction& direction(Side side) { return directions_[static_cast<std::size_t>(side)]; }
  const Direction& direction(Side side) const {
    return directions_[static_cast<std::size_t>(side)];
  }

  void advance(Side side);
  bool step(Side side);
  bool step_startup(Side side, bytes::View in);
  bool step_fpdus(Side side, bytes::View in);
  bool step_fpdu(Side side, bytes::View in);
  void learn(Side side, const mpa::StartupFrame& frame);
  bool lose(Side side, const char* why);
  void emit(Side side, Frame& frame);
  bool unmark(Frame& frame, std::size_t ulpdu_length);

  Listener listener_;
  std::array<Direction, 2> directions_;
  std::vector<std::byte> unmarked_;
};

}  // namespace iwarp::trace
