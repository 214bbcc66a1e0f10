// SPDX-License-Identifier: Apache-2.0
// A sample: a message that is valid in the current state of a connection, and whose fields can each
// be set to another value. A generated session sends one sample and records the peer's reaction.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform::generated {

/// The state of a connection in which the sample is sent.
enum class State : std::uint8_t {
  kEstablished,      ///< the sample is our first FPDU
  kAfterSend,        ///< one Send was delivered to the peer, which has opened memory
  kInSend,           ///< 8 of the 16 octets of our second Send were sent
  kInWrite,          ///< 8 of the 16 octets of a Write were sent
  kReadAsked,        ///< the peer has sent a Read Request and waits for the response
  kInReadResponse,   ///< the first half of the response to the peer's Read was sent
  kBehindTerminate,  ///< a Terminate was sent right before the sample
};

struct StateInfo {
  State state;
  std::string_view name;
  /// Whether the state needs a listening peer, because only such a peer Reads our memory.
  bool needs_responder;
};
inline constexpr std::array<StateInfo, 7> kStates{{
    {State::kEstablished, "established", false},
    {State::kAfterSend, "after-send", false},
    {State::kInSend, "in-send", false},
    {State::kInWrite, "in-write", false},
    {State::kReadAsked, "read-asked", true},
    {State::kInReadResponse, "in-read-response", true},
    {State::kBehindTerminate, "behind-terminate", false},
}};

/// The progress of a connection, from which the valid values of a sample's fields follow.
struct Progress {
  State state = State::kEstablished;
  /// Memory that the peer has opened; its length is 0 before the peer opens any.
  PeerMemory memory;
  std::array<std::uint32_t, ddp::kQueues> next_msn{1, 1, 1, 1};
  std::uint32_t begun = 0;  ///< number of octets that were sent of an incomplete message
  std::optional<rdmap::ReadRequest> asked;
  bool peer_listens = true;
  bool crc = true;
};

inline constexpr std::uint32_t kReceiveSize = 16;  ///< size of the receives that rping posts
/// Number of octets that are sent of an incomplete Send or Write.
inline constexpr std::uint32_t kBegun = 8;
inline constexpr std::uint32_t kPiece = 8;  ///< size of every other Write or Read
/// Offset in our memory at which the peer's Writes arrive.
inline constexpr std::uint64_t kSinkOffset = 512 * 1024;

struct Sample {
  ddp::SegmentHeader header;
  std::optional<rdmap::ReadRequest> read;  ///< the payload of a Read Request
  Octets payload;                          ///< the payload of other messages
  std::uint8_t ddp_reserved = 0;           ///< value of the bits 0x3C of the first octet
  /// If set, the ULPDU is truncated or zero-padded to this length.
  std::optional<std::size_t> ulpdu_length;
  Tamper tamper;
  enum class Split : std::uint8_t { kNone, kHalves, kEmptyLast };
  Split split = Split::kNone;  ///< how the message is split into two segments

  Octets ulpdu() const;
  std::size_t size() const { return ulpdu().size(); }
  std::size_t payload_size() const {
    const auto all = size();
    return all < header.size() ? 0 : all - header.size();
  }
  std::uint8_t opcode() const { return header.rsvd_ulp & rdmap::kOpcodeMask; }
  bool is(rdmap::Opcode o) const { return opcode() == static_cast<std::uint8_t>(o); }
  bool is_send() const { return opcode() >= 3 && opcode() <= 6; }
};

/// Returns a valid message with this opcode for the current state. If a message of this kind is
/// incomplete, the sample is its next segment.
Sample right_sample(rdmap::Opcode opcode, const Progress& progress, bytes::View our_memory);

/// Returns whether the sample is the next segment of the incomplete message.
bool continues(const Sample& sample, const Progress& progress);

/// Brings a new connection into `state`, with or without CRCs. Throws Failed if the peer does not
/// cooperate.
Progress reach(Script& script, State state, bool crc);
/// Sends the rest of the incomplete message.
void finish(Script& script, const Progress& progress);

}  // namespace iwarp::apps::conform::generated
