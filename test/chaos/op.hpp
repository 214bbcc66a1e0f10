// SPDX-License-Identifier: Apache-2.0
// One posted request, as the test oracle records it.
#pragma once

#include <optional>
#include <vector>

#include "blocks.hpp"
#include "iwarp/verbs/work_completion.hpp"
#include "iwarp/verbs/work_request.hpp"
#include "plans/plan.hpp"

namespace iwarp::chaos {

/// An octet that the network changed in a place where no CRC could detect it. The oracle accepts
/// both the original and the changed value.
struct Taint {
  std::size_t at;
  std::byte mask;
};

/// A window or fast region, and the part of its owner's memory (the target) to which it gives
/// access.
struct Opened {
  enum class State : std::uint8_t { kClosed, kOpening, kOpen, kClosing };
  verbs::Region* region = nullptr;
  bool is_window = true;
  State state = State::kClosed;
  std::size_t at = 0;
  std::size_t size = 0;
  bool contains(std::size_t from, std::size_t n) const {
    return from >= at && from + n <= at + size;
  }
  /// Returns the TO of the octet at offset `octet` of the target.
  std::uint64_t to(std::size_t octet) const { return region->to_base + (octet - at); }
};

/// Returns whether the request needs RFC 7306, which both ends must have negotiated.
constexpr bool needs_agreement(Act act) {
  return act == Act::kFetchAdd || act == Act::kCmpSwap || act == Act::kImmediate ||
         act == Act::kWriteImmediate || act == Act::kSendImmediate;
}

/// The opcodes of a request, of its completion, and of the completion of the receive that it
/// consumes.
struct Opcodes {
  verbs::WrOpcode request;
  verbs::WcOpcode completion;
  verbs::WcOpcode receive = verbs::WcOpcode::kRecv;
};
inline constexpr auto kOpcodes = [] {
  using Wr = verbs::WrOpcode;
  using Wc = verbs::WcOpcode;
  return std::array{Opcodes{Wr::kSend, Wc::kSend},
                    Opcodes{Wr::kSendInvalidate, Wc::kSend},
                    Opcodes{Wr::kSendImmediate, Wc::kSend, Wc::kRecvSendImmediate},
                    Opcodes{Wr::kImmediate, Wc::kSend, Wc::kRecvImmediate},
                    Opcodes{Wr::kWrite, Wc::kWrite},
                    Opcodes{Wr::kWriteImmediate, Wc::kWrite, Wc::kRecvImmediate},
                    Opcodes{Wr::kRead, Wc::kRead},
                    Opcodes{Wr::kReadInvalidate, Wc::kRead},
                    Opcodes{Wr::kFetchAdd, Wc::kFetchAdd},
                    Opcodes{Wr::kCmpSwap, Wc::kCmpSwap},
                    Opcodes{Wr::kBindWindow, Wc::kBindWindow},
                    Opcodes{Wr::kLocalInvalidate, Wc::kLocalInvalidate}};
}();
inline constexpr Opcodes kFastRegister{verbs::WrOpcode::kFastRegister,
                                       verbs::WcOpcode::kFastRegister};

struct Op {
  Act act = Act::kSend;
  bool is_signaled = true;
  bool is_solicited = false;
  Block* local = nullptr;  ///< source or sink; null if the payload is inline or empty
  std::size_t local_at = 0;
  /// The octets to send. For a Read, the octets that it must return.
  std::vector<std::byte> payload;
  Block* target = nullptr;  ///< the peer's memory for Writes, Reads and atomics
  std::size_t target_at = 0;
  /// Whether the request accesses one of the 64-bit words at the start of the target.
  bool is_word = false;
  std::uint64_t operand = 0;  ///< operand of an atomic
  std::uint64_t compare = 0;
  std::uint64_t old_word = 0;
  std::uint64_t new_word = 0;
  Opened* through = nullptr;  ///< the window or region whose STag the request uses
  Opened* ends = nullptr;
  Opened* opens = nullptr;
  verbs::Region* sink_alias = nullptr;
  Stag stag;  ///< the STag that the request invalidates
  std::uint64_t immediate = 0;
  /// Whether the request is invalid on purpose. It must then never take effect completely.
  bool is_refused = false;
  /// Whether the request is invalid at the posting end. It must then not be sent at all.
  bool is_local_error = false;
  /// Whether the request was posted after the connection had stopped sending.
  bool is_late = false;
  /// Number of octets that had been sent when the request was posted.
  std::uint64_t pushed = 0;
  std::vector<Taint> taints;
  std::optional<verbs::WcStatus> status;  ///< status of the completion, if there was one
  /// Whether the request has completed, or was treated as done without a completion.
  bool is_over = false;

  const Opcodes& opcodes() const {
    const bool registers = act == Act::kOpen && !opens->is_window;
    return registers ? kFastRegister : kOpcodes.at(static_cast<std::size_t>(act));
  }
  bool is_read() const { return act == Act::kRead || act == Act::kReadInvalidate; }
  bool is_atomic() const { return act == Act::kFetchAdd || act == Act::kCmpSwap; }
  bool is_write() const { return act == Act::kWrite || act == Act::kWriteImmediate; }
  bool takes_receive() const {
    return act == Act::kSend || act == Act::kSendInvalidate || act == Act::kSendImmediate ||
           act == Act::kImmediate || act == Act::kWriteImmediate;
  }
  bool carries_payload() const {
    return is_write() || act == Act::kSend || act == Act::kSendInvalidate ||
           act == Act::kSendImmediate;
  }
  bool is_local() const { return act == Act::kOpen || act == Act::kLocalInvalidate; }
  bool overlaps(const Block* block, std::size_t at, std::size_t n) const {
    return target == block && at < target_at + payload.size() && target_at < at + n;
  }
};

}  // namespace iwarp::chaos
