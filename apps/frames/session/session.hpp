// SPDX-License-Identifier: Apache-2.0
// Session: finds the relations between the frames of one connection. It matches responses with
// their requests, and Terminates with the frames that caused them. It follows STags from the
// message that advertised them to the operations that use them. It checks each frame against the
// rules that an observer can check: it sees only the wire, not the memory, rights and queues of the
// ends. Its memory is bounded. If a check needs a frame that was discarded or not captured, no
// violation is reported.
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

/// The frame that advertised an STag. This is always a guess, because only the application knows
/// what its payloads mean.
struct StagOrigin {
  std::uint64_t frame = 0;  ///< number of the frame whose payload contains the STag
  /// Whether this payload also contains the TO, or an address shortly below the TO.
  bool with_to = false;
  /// Whether the STag was found in the private data of a startup frame. If not, it was found in a
  /// Send.
  bool startup = false;
  bool little_endian = false;
};

/// Whether and why a frame is an RTR. An RTR is the initiator's first FPDU; it has no payload, and
/// permits the responder to send.
enum class Rtr : std::uint8_t {
  kNone,
  kAgreed,      ///< an RTR of the kind that the startup frames of both ends agreed on [EMPA-38]
  kRevisionOne  ///< sent with MPA revision 1, which cannot negotiate an RTR; some adapters do this
};

/// A frame with everything that is known about it. The views point into the octets of the Frame.
struct Explained {
  const Frame* frame = nullptr;
  std::uint64_t number = 0;  ///< number of the frame in the session, counted from 1
  // The following members describe an FPDU. For a startup frame, only `violations` is set.
  std::optional<ddp::SegmentHeader> header;
  const rdmap::OpcodeInfo* opcode = nullptr;  ///< null if the opcode is undefined
  bytes::View payload;                        ///< the captured part of the DDP payload
  std::size_t payload_size = 0;               ///< size of the DDP payload on the wire
  /// Number of the operation, counted from 1. A response has the number of its request. 0 if
  /// unknown.
  std::uint64_t operation = 0;
  /// Whether this is the first segment of its message. `header->last` marks the last segment.
  bool first = false;
  std::uint64_t octets_before = 0;  ///< number of payload octets in earlier segments of the message
  Rtr rtr = Rtr::kNone;
  std::optional<std::uint64_t> request;  ///< for a response: number of the frame that it answers
  std::optional<std::uint64_t> cause;    ///< for a Terminate: number of the frame that caused it
  /// The Read Request with its fields byte-swapped, if its sender is known to send Read Requests in
  /// little-endian order.
  std::optional<rdmap::ReadRequest> meant;
  std::optional<std::uint32_t> stag;  ///< the receiver's STag that the frame uses
  std::optional<StagOrigin> stag_origin;
  std::vector<Violation> violations;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds the next frame. Returns everything that is known about it; the result is valid until the
  /// next call.
  const Explained& see(const Frame& frame);

  /// Returns how many requests of that side have not yet been answered.
  std::size_t unanswered(Side side) const;

  /// Maximum number of unanswered requests that are stored for each side.
  static constexpr std::size_t kMaxRequests = 512;
  /// Maximum number of recent frames that are stored to find the cause of a Terminate.
  static constexpr std::size_t kMaxRecent = 128;
  /// Maximum number of payloads that are searched for an STag.
  static constexpr std::size_t kMaxPayloads = 32;
  static constexpr std::size_t kMaxPayloadOctets = 256;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::frames
