// SPDX-License-Identifier: Apache-2.0
// The requests of a send queue, in a ring of slots. The consumer's half fills them, the stream's
// half executes them, and three counters that only grow say how far each has come: posted >=
// retired >= what the consumer has reaped. A slot belongs to the consumer until it is posted, then
// to the stream until it is reaped.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <new>
#include <vector>

#include "iwarp/verbs/reap_count.hpp"
#include "iwarp/verbs/receive_queue.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::verbs {

/// Returns whether the request needs a peer that agreed to RFC 7306.
constexpr bool is_extension(WrOpcode opcode) {
  return opcode == WrOpcode::kFetchAdd || opcode == WrOpcode::kCmpSwap ||
         opcode == WrOpcode::kImmediate || opcode == WrOpcode::kWriteImmediate ||
         opcode == WrOpcode::kSendImmediate;
}
/// Returns whether the request is two messages, one of them its Immediate.
constexpr bool is_pair(WrOpcode opcode) {
  return opcode == WrOpcode::kWriteImmediate || opcode == WrOpcode::kSendImmediate;
}

constexpr bool is_atomic(WrOpcode opcode) {
  return opcode == WrOpcode::kFetchAdd || opcode == WrOpcode::kCmpSwap;
}

constexpr bool is_read(WrOpcode opcode) {
  return opcode == WrOpcode::kRead || opcode == WrOpcode::kReadInvalidate;
}
/// Returns the number of Read Requests of a Read: one for each buffer of its sink, since a Read
/// Request names one. [RDMAP-47]
template <typename Sges>
int read_requests(const Sges& sink) {
  const auto count = std::ranges::count_if(sink, [](const Sge& sge) { return sge.length != 0; });
  return std::max(static_cast<int>(count), 1);
}

struct SendSlot {
  enum class Stage : std::uint8_t {
    kPosted,
    kStarted,
    kLeft,  ///< sent, and waits for the peer's acknowledgement
    kDone,
  };

  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  Stage stage = Stage::kPosted;
  bool is_plain = false;  ///< a Send or Write that waits for no other request
  WcStatus status = WcStatus::kSuccess;
  std::uint32_t length = 0;
  SgeList sgl;
  RemoteAddress remote;
  Stag invalidate;
  Registration registration;
  WindowBind bind;
  Atomic atomic;
  std::uint64_t immediate = 0;
  int unsent = 1;         ///< messages that are not sent yet
  int unanswered = 1;     ///< messages of a Read or atomic that are not answered yet
  std::uint32_t msn = 0;  ///< of its first message, once started; the others follow
  /// With kInline, `length` octets of payload.
  std::byte* inline_data = nullptr;
  boost::container::static_vector<Grant, bytes::kMaxSge> grants;

  bool is_read() const { return verbs::is_read(opcode); }
  bool is_atomic() const { return verbs::is_atomic(opcode); }
  bool is_write() const {
    return opcode == WrOpcode::kWrite || opcode == WrOpcode::kWriteImmediate;
  }
  /// Returns whether it is, or contains, a message on the peer's Send queue.
  bool is_send() const {
    return opcode == WrOpcode::kSend || opcode == WrOpcode::kSendInvalidate ||
           opcode == WrOpcode::kImmediate || is_pair(opcode);
  }
  /// Returns how many messages of the send queue it becomes.
  unsigned sends() const {
    if (opcode == WrOpcode::kSendImmediate) return 2;
    return is_send() ? 1 : 0;
  }
  /// Returns whether it is no message.
  bool is_local() const {
    return opcode == WrOpcode::kLocalInvalidate || opcode == WrOpcode::kFastRegister ||
           opcode == WrOpcode::kBindWindow;
  }
  /// Returns whether it completes with the peer's answer rather than when it is sent.
  bool is_answered() const { return is_read() || is_atomic(); }
};

class SendRing {
 public:
  SendRing(std::size_t max_wr, std::size_t max_inline)
      : max_wr_(max_wr),
        max_inline_(max_inline),
        mask_(std::bit_ceil(std::max(max_wr, kSlots)) - 1),
        parts_((mask_ + 1) / kSlots) {}

  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> retired{0};
  ReapCount reaped;
  /// The value of `posted` when all requests up to there were sent and none needed an
  /// acknowledgement; kNever if one does.
  std::atomic<std::uint64_t> rests_at{kNever};
  static constexpr std::uint64_t kNever = UINT64_MAX;

  /// Returns how many more requests may be posted. [VRB-42]
  std::size_t room() const {
    return max_wr_ - (posted.load(std::memory_order_relaxed) - reaped.value());
  }
  /// Returns the slot of a sequence that was posted or prepared.
  SendSlot& slot(std::uint64_t sequence) {
    const auto index = sequence & mask_;
    return (*parts_[index / kSlots].slots)[index % kSlots];
  }
  /// Returns how many of the newest requests still have their slots.
  std::uint64_t capacity() const { return mask_ + 1; }
  /// Allocates what the next `count` requests need, with room for inline payload if asked. Returns
  /// false if there is no memory.
  bool prepare(std::size_t count, bool with_inline) {
    const auto end = posted.load(std::memory_order_relaxed) + count;
    return end <= prepared_[with_inline] || prepare_parts(end, with_inline);
  }
  /// Returns where the inline payload of `sequence` goes.
  std::byte* inline_data(std::uint64_t sequence) {
    const auto index = sequence & mask_;
    return parts_[index / kSlots].inline_data.get() + index % kSlots * max_inline_;
  }

 private:
  /// A part of the ring, allocated when it is first used: many programs ask for far more than they
  /// use.
  static constexpr std::size_t kSlots = 16;
  struct Part {
    std::unique_ptr<std::array<SendSlot, kSlots>> slots;
    std::unique_ptr<std::byte[]> inline_data;  ///< max_inline octets for each slot
  };

  bool prepare_parts(std::uint64_t end, bool with_inline) {
    auto sequence = posted.load(std::memory_order_relaxed);
    while (sequence < end) {
      const auto index = sequence & mask_;
      Part& part = parts_[index / kSlots];
      const bool is_made = part.slots != nullptr && (!with_inline || part.inline_data != nullptr);
      if (!is_made && !make(part, with_inline)) return false;
      sequence += kSlots - index % kSlots;
    }
    prepared_[with_inline] = sequence;
    return true;
  }
  bool make(Part& part, bool with_inline) {
    try {
      if (part.slots == nullptr) part.slots = std::make_unique<std::array<SendSlot, kSlots>>();
      if (with_inline && part.inline_data == nullptr) {
        part.inline_data = std::make_unique_for_overwrite<std::byte[]>(kSlots * max_inline_);
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  const std::size_t max_wr_;
  const std::size_t max_inline_;
  const std::size_t mask_;  ///< maps a sequence to its place in the ring faster than a division
  std::vector<Part> parts_;
  /// Up to these sequences prepare() has allocated: without inline payload, and with.
  std::array<std::uint64_t, 2> prepared_{};
};

}  // namespace iwarp::verbs
