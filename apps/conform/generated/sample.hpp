// SPDX-License-Identifier: Apache-2.0
// A sample: one message that is valid at this point of a connection, each field of which can be
// given another value. A generated session sends one sample and records the peer's reaction.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform::generated {

/// The state of a connection when the sample is sent.
enum class State : std::uint8_t {
  kEstablished,      ///< the sample is our first FPDU
  kAfterSend,        ///< one Send was delivered to the peer, which has opened memory
  kInSend,           ///< 8 of the 16 octets of our second Send were sent
  kInWrite,          ///< 8 octets of a Write of 16 were sent
  kReadAsked,        ///< the peer waits for the answer to its Read
  kInReadResponse,   ///< the first half of that answer was sent
  kBehindTerminate,  ///< a Terminate was sent right before the sample
};

struct StateInfo {
  State state;
  std::string_view name;
  bool needs_responder;  ///< only a listening peer Reads our memory
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

/// The state of the connection that determines which samples are valid.
struct Progress {
  State state = State::kEstablished;
  PeerMemory memory;  ///< length 0: the peer has opened none yet
  std::array<std::uint32_t, ddp::kQueues> next_msn{1, 1, 1, 1};
  std::uint32_t begun = 0;  ///< octets sent of the incomplete message
  std::optional<rdmap::ReadRequest> asked;
  bool peer_listens = true;
  bool crc = true;
};

inline constexpr std::uint32_t kReceiveSize = 16;  ///< of the receives that rping posts
inline constexpr std::uint32_t kBegun = 8;         ///< octets sent of an incomplete Send or Write
inline constexpr std::uint32_t kPiece = 8;         ///< octets of any other Write or Read
inline constexpr std::uint64_t kSinkOffset = 512 * 1024;  ///< of the peer's Writes in our memory

struct Sample {
  ddp::SegmentHeader header;
  std::optional<rdmap::ReadRequest> read;   ///< the payload of a Read Request
  Octets payload;                           ///< the payload of other messages
  std::uint8_t ddp_reserved = 0;            ///< the bits 0x3C of the first octet
  std::optional<std::size_t> ulpdu_length;  ///< cuts the ULPDU, or pads it with zeros
  Tamper tamper;
  enum class Split : std::uint8_t { kNone, kHalves, kEmptyLast };
  Split split = Split::kNone;  ///< into two segments

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

/// Returns the valid message for this state. If a message is incomplete, a sample of its kind
/// continues it.
Sample right_sample(rdmap::Opcode opcode, const Progress& progress, bytes::View our_memory);

/// Returns whether the sample continues the incomplete message.
bool continues(const Sample& sample, const Progress& progress);

/// Brings a new connection into `state`. Throws Failed if the peer does not cooperate.
Progress reach(Script& script, State state, bool crc);
/// Sends the rest of the incomplete message.
void finish(Script& script, const Progress& progress);

}  // namespace iwarp::apps::conform::generated
