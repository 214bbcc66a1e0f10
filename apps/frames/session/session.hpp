// SPDX-License-Identifier: Apache-2.0
// Session: the relations between the frames of one connection. Joins responses to their requests
// and Terminates to the frames that they answer, follows STags from the message that advertised
// them to the operations that use them, and judges each frame by the rules that an observer can
// check. It sees only the wire: it knows nothing of memory, rights and queues of the ends. Its
// memory is bounded; a frame that it has forgotten or never saw breaks no rule.
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

// Types of the decoder.
using trace::CrcVerdict;
using trace::Frame;
using trace::FrameKind;
using trace::Side;

/// Where an STag was advertised. The payload is always a guess: applications decide what payloads
/// mean.
struct StagOrigin {
  std::uint64_t frame = 0;  ///< number of the frame whose payload contains its octets
  bool with_to = false;     ///< it contains the TO, too, or an address that the TO belongs to
  bool startup = false;     ///< in private data, not in a Send
  bool little_endian = false;
};

/// The first FPDU of the initiator, if it is without octets and lets the other end send.
enum class Rtr : std::uint8_t {
  kNone,
  kAgreed,      ///< both ends agreed on it [EMPA-38]
  kRevisionOne  ///< adapters send it in revision 1 of MPA, too, which knows no such agreement
};

/// A frame with all that is known about it. Its views are those of the Frame.
struct Explained {
  const Frame* frame = nullptr;
  std::uint64_t number = 0;  ///< of the frame in the session, from 1
  // kFpdu
  std::optional<ddp::SegmentHeader> header;
  const rdmap::OpcodeInfo* opcode = nullptr;  ///< null: no message has this opcode
  bytes::View payload;                        ///< of DDP, as far as captured
  std::size_t payload_size = 0;               ///< of DDP
  std::uint64_t operation = 0;      ///< from 1; a response has that of its request. 0: not known
  bool first = false;               ///< the first segment of its message; `header->last`: the last
  std::uint64_t octets_before = 0;  ///< of the message, in segments before this one
  Rtr rtr = Rtr::kNone;
  std::optional<std::uint64_t> request;  ///< of a response: number of the request's frame
  std::optional<std::uint64_t> cause;    ///< of a Terminate: number of the frame it answers
  /// The meaning of a Read Request of an end whose fields are known to be in little-endian order.
  std::optional<rdmap::ReadRequest> meant;
  std::optional<std::uint32_t> stag;  ///< STag of the receiver that the frame uses
  std::optional<StagOrigin> stag_origin;
  std::vector<Violation> violations;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds the next frame. The result is valid until the next call.
  const Explained& see(const Frame& frame);

  /// Returns the number of requests of that side without a response.
  std::size_t unanswered(Side side) const;

  static constexpr std::size_t kMaxRequests = 512;  ///< remembered for each side
  static constexpr std::size_t kMaxRecent = 128;    ///< frames that a Terminate may be about
  static constexpr std::size_t kMaxTold = 32;       ///< payloads that may advertise an STag
  static constexpr std::size_t kMaxToldOctets = 256;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::frames
