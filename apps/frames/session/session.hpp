// SPDX-License-Identifier: Apache-2.0
// Session: what the frames of one connection have to do with each other. Joins responses to their
// requests and Terminates to what they answer, follows STags from the message that told them to the
// operations that use them, and judges each frame by the rules that an observer can judge by.
// It sees the wire only: memory, rights and queues of the ends are not known to it. Its memory is
// bounded; what it has forgotten or never saw is not held against anybody.
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

// The values of the decoder below.
using trace::CrcVerdict;
using trace::Frame;
using trace::FrameKind;
using trace::Side;

/// Where an STag came from. That a payload told it is always a guess: what payloads mean is the
/// programs' affair.
struct StagOrigin {
  std::uint64_t frame = 0;  ///< number of the frame whose payload contains its octets
  bool with_to = false;     ///< the TO, too, or an address of which it is a part
  bool startup = false;     ///< in private data, not in a Send
  bool little_endian = false;
};

/// The first FPDU of the end that connects, of no octets, after which the other end may send.
enum class Rtr : std::uint8_t {
  kNone,
  kAgreed,      ///< both ends agreed on it [EMPA-38]
  kRevisionOne  ///< adapters send it in revision 1 of MPA, too, which knows no such agreement
};

/// A frame with all that is known of it. Views are those of the Frame.
struct Explained {
  const Frame* frame = nullptr;
  std::uint64_t number = 0;  ///< of the frame in the session, from 1
  // kFpdu
  std::optional<ddp::SegmentHeader> header;
  const rdmap::OpcodeInfo* opcode = nullptr;  ///< null: no message has this opcode
  bytes::View payload;                        ///< of DDP, as far as it was seen
  std::size_t payload_size = 0;               ///< of DDP
  std::uint64_t operation = 0;      ///< from 1; a response has that of its request. 0: not known
  bool first = false;               ///< the first segment of its message; `header->last`: the last
  std::uint64_t octets_before = 0;  ///< of the message, in segments before this one
  Rtr rtr = Rtr::kNone;
  std::optional<std::uint64_t> request;  ///< of a response: number of the request's frame
  std::optional<std::uint64_t> cause;    ///< of a Terminate: number of the frame it answers
  /// A Read Request of an end whose fields are known to be in little-endian order: what it means.
  std::optional<rdmap::ReadRequest> meant;
  std::optional<std::uint32_t> stag;  ///< that the frame uses, of its receiver
  std::optional<StagOrigin> stag_origin;
  std::vector<Violation> violations;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The next frame. What is returned holds until the next call.
  const Explained& see(const Frame& frame);

  /// Requests of that side which no response was seen of.
  std::size_t unanswered(Side side) const;

  static constexpr std::size_t kMaxRequests = 512;  ///< remembered of a side
  static constexpr std::size_t kMaxRecent = 128;    ///< frames that a Terminate may be about
  static constexpr std::size_t kMaxTold = 32;       ///< payloads that may tell an STag
  static constexpr std::size_t kMaxToldOctets = 256;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::frames
