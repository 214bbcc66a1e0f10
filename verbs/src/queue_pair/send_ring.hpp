// SPDX-License-Identifier: Apache-2.0
// SendRing: the requests of a send queue, in a ring of slots. The application's half of the queue
// pair fills the slots, and the stream's half executes the requests. Three counters only grow:
// posted >= retired >= reaped. They count the requests that were posted, that were completed, and
// whose completions the application has polled. A slot belongs to the application until it is
// posted, and then to the stream until it is reaped.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "iwarp/verbs/reap_count.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::verbs {

/// Returns whether the request requires a peer that has agreed to RFC 7306.
constexpr bool is_extension(WrOpcode opcode) {
  return opcode == WrOpcode::kFetchAdd || opcode == WrOpcode::kCmpSwap ||
         opcode == WrOpcode::kImmediate || opcode == WrOpcode::kWriteImmediate ||
         opcode == WrOpcode::kSendImmediate;
}
/// Returns whether the request consists of two messages, one of which is an Immediate.
constexpr bool is_pair(WrOpcode opcode) {
  return opcode == WrOpcode::kWriteImmediate || opcode == WrOpcode::kSendImmediate;
}

constexpr bool is_atomic(WrOpcode opcode) {
  return opcode == WrOpcode::kFetchAdd || opcode == WrOpcode::kCmpSwap;
}

constexpr bool is_read(WrOpcode opcode) {
  return opcode == WrOpcode::kRead || opcode == WrOpcode::kReadInvalidate;
}
/// Returns the number of Read Requests that a Read needs: one for each buffer of the sink, because
/// a Read Request has only one sink buffer. [RDMAP-47]
template <typename Sges>
int read_requests(const Sges& sink) {
  const auto count = std::ranges::count_if(sink, [](const Sge& sge) { return sge.length != 0; });
  return std::max(static_cast<int>(count), 1);
}

struct SendSlot {
  enum class Stage : std::uint8_t {
    kPosted,
    kStarted,
    kLeft,  ///< the request was sent, and the peer has not acknowledged it
    kDone,
  };

  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  Stage stage = Stage::kPosted;
  /// whether this is a plain Send or Write that does not wait for other requests
  bool is_plain = false;
  WcStatus status = WcStatus::kSuccess;
  std::uint32_t length = 0;
  std::span<Sge> sgl;  ///< set by set_sgl()
  RemoteAddress remote;
  Stag invalidate;
  Registration registration;
  WindowBind bind;
  Atomic atomic;
  std::uint64_t immediate = 0;
  int unsent = 1;      ///< number of messages that have not been sent
  int unanswered = 1;  ///< for a Read or atomic: number of messages that have not been answered
  /// MSN of the first message, if started; further messages have the next MSNs
  std::uint32_t msn = 0;
  /// The payload of a kInline request; `length` is its size in octets.
  std::byte* inline_data = nullptr;
  std::span<Grant> grants;  ///< the pinned buffers; see add_grant()

  /// Copies the elements of the request; there are at most max_sge of them.
  void set_sgl(std::span<const Sge> from) {
    sgl = {sgl.data(), from.size()};
    if (from.size() == 1) {  // the usual number of elements
      sgl[0] = from[0];
    } else {
      std::ranges::copy(from, sgl.begin());
    }
  }
  /// Returns a new empty grant at the end of `grants`, which then has at most max_sge elements.
  Grant& add_grant() {
    grants = {grants.data(), grants.size() + 1};
    return grants.back();
  }
  /// Unpins the buffers.
  void release_grants() {
    for (Grant& grant : grants) grant.release();
    grants = grants.first(0);
  }

  bool is_read() const { return verbs::is_read(opcode); }
  bool is_atomic() const { return verbs::is_atomic(opcode); }
  bool is_write() const {
    return opcode == WrOpcode::kWrite || opcode == WrOpcode::kWriteImmediate;
  }
  /// Returns whether any message of the request uses the peer's Send queue.
  bool is_send() const {
    return opcode == WrOpcode::kSend || opcode == WrOpcode::kSendInvalidate ||
           opcode == WrOpcode::kImmediate || is_pair(opcode);
  }
  /// Returns how many messages of the request use the peer's Send queue.
  unsigned sends() const {
    if (opcode == WrOpcode::kSendImmediate) return 2;
    return is_send() ? 1 : 0;
  }
  /// Returns whether the request is executed at this end, without a message.
  bool is_local() const {
    return opcode == WrOpcode::kLocalInvalidate || opcode == WrOpcode::kFastRegister ||
           opcode == WrOpcode::kBindWindow;
  }
  /// Returns whether the request completes only when the peer has answered it.
  bool is_answered() const { return is_read() || is_atomic(); }
};

class SendRing {
 public:
  SendRing(std::size_t max_wr, std::size_t max_sge, std::size_t max_inline)
      : max_wr_(max_wr),
        max_sge_(max_sge),
        max_inline_(max_inline),
        mask_(std::bit_ceil(std::max(max_wr, kSlots)) - 1),
        parts_((mask_ + 1) / kSlots) {}

  /// Number of slots that were filled, and whether those after `posted` wait; guarded by
  /// QpShared::post.
  std::uint64_t filled = 0;
  bool is_held = false;
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> retired{0};
  ReapCount reaped;
  /// If all requests have been sent and none needs an acknowledgement, the value of `posted` at
  /// that time; otherwise kNever.
  std::atomic<std::uint64_t> rests_at{kNever};
  static constexpr std::uint64_t kNever = UINT64_MAX;

  /// Returns the number of requests that may still be posted. [VRB-42]
  std::size_t room() const { return max_wr_ - (filled - reaped.value()); }
  /// Posts the slots before `end`, which are filled, unless they are held.
  void advance(std::uint64_t end) {
    filled = end;
    if (!is_held) posted.store(end, std::memory_order_release);
  }
  /// Returns the slot of a request that was posted or prepared.
  SendSlot& slot(std::uint64_t sequence) {
    const auto index = sequence & mask_;
    return (*parts_[index / kSlots].slots)[index % kSlots];
  }
  /// Returns the number of slots. The newest requests, up to this number, still have their slots.
  std::uint64_t capacity() const { return mask_ + 1; }
  /// Allocates the slots of the next `count` requests, and room for inline payload if
  /// `with_inline`. Returns false if there is no memory.
  bool prepare(std::size_t count, bool with_inline) {
    const auto end = filled + count;
    return end <= prepared_[with_inline] || prepare_parts(end, with_inline);
  }
  /// Returns the memory for the inline payload of request `sequence`.
  std::byte* inline_data(std::uint64_t sequence) {
    const auto index = sequence & mask_;
    return parts_[index / kSlots].inline_data.get() + index % kSlots * max_inline_;
  }

 private:
  /// Number of slots of a Part. Each Part of the ring is allocated when it is first used, because
  /// many applications request far larger queues than they use.
  static constexpr std::size_t kSlots = 8;
  struct Part {
    std::unique_ptr<Sge[]> sges;      ///< max_sge elements for each slot
    std::unique_ptr<Grant[]> grants;  ///< max_sge elements for each slot
    std::unique_ptr<std::array<SendSlot, kSlots>> slots;
    std::unique_ptr<std::byte[]> inline_data;  ///< max_inline octets for each slot
  };

  bool prepare_parts(std::uint64_t end, bool with_inline) {
    auto sequence = filled;
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
      if (part.slots == nullptr) make_slots(part);
      if (with_inline && part.inline_data == nullptr) {
        part.inline_data = std::make_unique_for_overwrite<std::byte[]>(kSlots * max_inline_);
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  void make_slots(Part& part) {
    part.sges = std::make_unique<Sge[]>(kSlots * max_sge_);
    part.grants = std::make_unique<Grant[]>(kSlots * max_sge_);
    part.slots = std::make_unique<std::array<SendSlot, kSlots>>();
    for (std::size_t i = 0; i < kSlots; ++i) {
      (*part.slots)[i].sgl = {part.sges.get() + i * max_sge_, 0};
      (*part.slots)[i].grants = {part.grants.get() + i * max_sge_, 0};
    }
  }

  const std::size_t max_wr_;
  const std::size_t max_sge_;
  const std::size_t max_inline_;
  const std::size_t mask_;  ///< maps a sequence number to its slot, faster than a division
  std::vector<Part> parts_;
  /// The sequence numbers up to which prepare() has allocated memory: [0] for slots, [1] for inline
  /// payload.
  std::array<std::uint64_t, 2> prepared_{};
};

}  // namespace iwarp::verbs
