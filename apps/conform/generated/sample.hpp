// SPDX-License-Identifier: Apache-2.0
// A sample: a message that is valid in the current state of a connection. A generated session
// changes at most two fields of the sample, sends the sample, and records the peer's reaction.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform::generated {

/// The state that the connection is in when the tester sends the sample.
enum class State : std::uint8_t {
  kEstablished,      ///< startup is complete; the sample is the tester's first FPDU
  kAfterSend,        ///< the tester has sent one Send, and the peer has advertised memory
  kInSend,           ///< the tester has sent 8 of the 16 octets of its second Send
  kInWrite,          ///< the tester has sent 8 of the 16 octets of a Write
  kReadRequested,    ///< the peer has sent a Read Request and waits for the response
  kInReadResponse,   ///< the tester has sent the first half of the response to the peer's Read
  kBehindTerminate,  ///< the tester has sent a Terminate directly before the sample
};

struct StateInfo {
  State state;
  std::string_view name;
  /// Whether the peer must listen: only a listening peer sends Reads for the tester's memory.
  bool needs_responder;
};
inline constexpr std::array<StateInfo, 7> kStates{{
    {State::kEstablished, "established", false},
    {State::kAfterSend, "after-send", false},
    {State::kInSend, "in-send", false},
    {State::kInWrite, "in-write", false},
    {State::kReadRequested, "read-asked", true},
    {State::kInReadResponse, "in-read-response", true},
    {State::kBehindTerminate, "behind-terminate", false},
}};

/// The progress of a connection. It determines which values are valid in the fields of a sample.
struct Progress {
  State state = State::kEstablished;
  /// Memory that the peer has advertised. Its length is 0 until the peer advertises memory.
  PeerMemory memory;
  std::array<std::uint32_t, ddp::kQueues> next_msn{1, 1, 1, 1};
  std::uint32_t begun = 0;  ///< number of octets already sent of a message that is incomplete
  std::optional<rdmap::ReadRequest> asked;
  bool peer_listens = true;
  bool crc = true;
};

inline constexpr std::uint32_t kReceiveSize = 16;  ///< size of the receive buffers that rping posts
/// Number of octets that the tester sends if it leaves a Send or Write incomplete.
inline constexpr std::uint32_t kBegun = 8;
inline constexpr std::uint32_t kPiece = 8;  ///< size of complete Writes and Reads
/// Offset in the tester's memory to which the peer sends its Writes.
inline constexpr std::uint64_t kSinkOffset = 512 * 1024;

struct Sample {
  ddp::SegmentHeader header;
  std::optional<rdmap::ReadRequest> read;  ///< payload of a Read Request
  Octets payload;                          ///< payload of any other message
  std::uint8_t ddp_reserved = 0;           ///< bits 0x3C of the first octet of the DDP header
  /// If set, the ULPDU is truncated or padded with zeros to this length.
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

/// Returns a valid message with this opcode for the current state. If a message of the same kind is
/// incomplete, returns its next segment.
Sample right_sample(rdmap::Opcode opcode, const Progress& progress, bytes::View our_memory);

/// Returns whether the sample is the next segment of a message that is incomplete.
bool continues(const Sample& sample, const Progress& progress);

/// Brings a new connection into `state`. `crc` says whether the tester requests CRCs. Throws Failed
/// if the peer does not cooperate.
Progress reach(Script& script, State state, bool crc);
/// Sends the rest of a message that is incomplete, if any.
void finish(Script& script, const Progress& progress);

}  // namespace iwarp::apps::conform::generated
