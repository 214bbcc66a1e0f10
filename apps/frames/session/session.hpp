// SPDX-License-Identifier: Apache-2.0
// Session: finds the relations between the frames of one connection. Joins responses to their
// requests and Terminates to the frames that caused them, follows STags from the message that
// advertised them to the operations that use them, and checks each frame against the rules that an
// observer can check. It sees only the wire, not the memory, rights and queues of the ends. Its
// memory is bounded. If a check needs a frame that was forgotten or not captured, no violation is
// reported.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "frames/session/rules.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/trace/frame.hpp"

namespace iwarp::apps::frames {

// Types of the stream decoder.
using trace::CrcVerdict;
using trace::Frame;
using trace::FrameKind;
using trace::Side;

/// Where an STag was advertised. This is always a guess, because only the application knows what
/// its payloads mean.
struct StagOrigin {
  std::uint64_t frame = 0;  ///< number of the frame whose payload contains the octets of the STag
  /// Whether the payload also contains the TO, or an address shortly below it.
  bool with_to = false;
  /// Whether it was found in the private data of a startup frame, not in a Send.
  bool startup = false;
  bool little_endian = false;
};

/// Whether a frame is an RTR: the first FPDU of the initiator, without payload, which lets the
/// responder send.
enum class Rtr : std::uint8_t {
  kNone,
  kAgreed,      ///< the startup frames of both ends agreed on this kind of RTR [EMPA-38]
  kRevisionOne  ///< sent in revision 1 of MPA, which has no such agreement; some adapters do that
};

/// A frame with everything that is known about it. Its views point into the octets of the Frame.
struct Explained {
  const Frame* frame = nullptr;
  std::uint64_t number = 0;  ///< number of the frame in the session, from 1
  // The following members describe an FPDU; only `violations` is also set for a startup frame.
  std::optional<ddp::SegmentHeader> header;
  const rdmap::OpcodeInfo* opcode = nullptr;  ///< null if no message has this opcode
  bytes::View payload;                        ///< the captured part of the DDP payload
  std::size_t payload_size = 0;               ///< size of the DDP payload on the wire
  /// Number of the operation, from 1; a response has the number of its request; 0 if unknown.
  std::uint64_t operation = 0;
  /// Whether this is the first segment of its message; `header->last` marks the last.
  bool first = false;
  std::uint64_t octets_before = 0;  ///< payload octets in earlier segments of the message
  Rtr rtr = Rtr::kNone;
  std::optional<std::uint64_t> request;  ///< for a response: number of the frame with the request
  std::optional<std::uint64_t> cause;    ///< for a Terminate: number of the frame that caused it
  /// The decoded Read Request if its sender is known to send these in little-endian order.
  std::optional<rdmap::ReadRequest> meant;
  std::optional<std::uint32_t> stag;  ///< the STag of the receiver that the frame uses
  std::optional<StagOrigin> stag_origin;
  std::vector<Violation> violations;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds the next frame and explains it. The result is valid until the next call.
  const Explained& see(const Frame& frame);

  /// Returns how many requests of that side have not been answered.
  std::size_t unanswered(Side side) const;

  /// Maximum number of unanswered requests of each side.
  static constexpr std::size_t kMaxRequests = 512;
  /// Maximum number of frames that a Terminate is matched with.
  static constexpr std::size_t kMaxRecent = 128;
  /// Maximum number of payloads that are searched for an STag.
  static constexpr std::size_t kMaxTold = 32;
  static constexpr std::size_t kMaxToldOctets = 256;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::frames
