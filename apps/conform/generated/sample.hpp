// SPDX-License-Identifier: Apache-2.0
// A sample: one message as it would be right at this point of a connection, every field of which
// can be given another value. Generated sessions send one sample and record what the peer makes of
// it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform::generated {

/// What a connection is in the middle of when the sample is sent.
enum class State : std::uint8_t {
  kEstablished,      ///< the sample is our first FPDU
  kAfterSend,        ///< one Send of ours was delivered, the peer has opened memory
  kInSend,           ///< 8 of the 16 octets of our second Send are there
  kInWrite,          ///< 8 octets of a Write of 16 are there
  kReadAsked,        ///< the peer waits for the answer to its Read
  kInReadResponse,   ///< the first half of that answer is there
  kBehindTerminate,  ///< a Terminate of ours went out right before it
};

struct StateInfo {
  State state;
  std::string_view name;
  bool needs_responder;  ///< only a peer that listens Reads from us
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

/// Where the connection stands, as far as it decides about what is right.
struct Progress {
  State state = State::kEstablished;
  PeerMemory memory;  ///< length 0: the peer has opened none yet
  std::array<std::uint32_t, ddp::kQueues> next_msn{1, 1, 1, 1};
  std::uint32_t begun = 0;  ///< octets of the message that is under way
  std::optional<rdmap::ReadRequest> asked;
  bool peer_listens = true;
  bool crc = true;
};

inline constexpr std::uint32_t kReceiveSize = 16;  ///< of the receives that rping posts
inline constexpr std::uint32_t kBegun = 8;         ///< octets of a Send or Write that is under way
inline constexpr std::uint32_t kPiece = 8;         ///< octets of a Write or Read otherwise
inline constexpr std::uint64_t kSinkOffset = 512 * 1024;  ///< in our memory: what the peer writes

struct Sample {
  ddp::SegmentHeader header;
  std::optional<rdmap::ReadRequest> read;   ///< the payload, when there is one
  Octets payload;                           ///< otherwise
  std::uint8_t ddp_reserved = 0;            ///< the bits 0x3C of the first octet
  std::optional<std::size_t> ulpdu_length;  ///< cut there, or filled up with zeros
  Tamper tamper;
  enum class Split : std::uint8_t { kNone, kHalves, kEmptyLast };
  Split split = Split::kNone;  ///< in two segments, the second of them the rest

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

/// The message as it is right here: what is under way is continued by a sample of its kind.
Sample right_sample(rdmap::Opcode opcode, const Progress& progress, bytes::View our_memory);

/// The sample goes on with what is under way.
bool continues(const Sample& sample, const Progress& progress);

/// Brings a new connection into that state. Failed: the peer did not play.
Progress reach(Script& script, State state, bool crc);
/// The rest of the message that is under way.
void finish(Script& script, const Progress& progress);

}  // namespace iwarp::apps::conform::generated
