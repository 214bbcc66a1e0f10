// SPDX-License-Identifier: Apache-2.0
// What a queue pair holds: send slots in a ring, the receive under way, and three counters that
// only ever rise. posted >= started >= retired >= what the consumer has reaped.
#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <new>

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::verbs {

/// Only for peers that agreed to RFC 7306.
constexpr bool is_extension(WrOpcode opcode) {
  return opcode == WrOpcode::kFetchAdd || opcode == WrOpcode::kCmpSwap ||
         opcode == WrOpcode::kImmediate || opcode == WrOpcode::kWriteImmediate;
}

struct QueuePair::SendSlot {
  enum class Stage : std::uint8_t { kPosted, kStarted, kDone };

  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  Stage stage = Stage::kPosted;
  WcStatus status = WcStatus::kSuccess;
  std::uint32_t length = 0;
  SgeList sgl;
  RemoteAddress remote;
  Stag invalidate;
  Registration registration;
  WindowBind bind;
  Atomic atomic;
  std::uint64_t immediate = 0;
  int unsent = 1;  ///< messages that have not left
  /// kInline: `length` octets of payload.
  std::byte* inline_data = nullptr;
  boost::container::static_vector<Grant, bytes::kMaxSge> grants;

  bool is_read() const { return opcode == WrOpcode::kRead || opcode == WrOpcode::kReadInvalidate; }
  bool is_atomic() const { return opcode == WrOpcode::kFetchAdd || opcode == WrOpcode::kCmpSwap; }
  /// Complete when the peer has answered, not when the request has left.
  bool is_answered() const { return is_read() || is_atomic(); }
};

struct QueuePair::Impl {
  explicit Impl(const QpInit& init)
      : max_send_wr(init.limits.max_send_wr),
        max_inline(init.limits.max_inline),
        sq((max_send_wr + kSlots - 1) / kSlots),
        rq(init.srq != nullptr ? 1 : init.limits.max_recv_wr, init.limits.max_recv_sge) {}

  // Lock order: lower, then post; both before the mutexes of CQ, SRQ and STag table.
  mutable std::mutex post;  ///< posting, and what query() reads
  std::mutex lower;         ///< flushing, which may happen without a connection

  /// A part of the ring of send slots, made when it is first used: many programs ask for far more
  /// than they use.
  static constexpr std::size_t kSlots = 16;
  struct Part {
    std::unique_ptr<std::array<SendSlot, kSlots>> slots;
    std::unique_ptr<std::byte[]> inline_data;  ///< max_inline octets for each slot
  };
  const std::size_t max_send_wr;
  const std::size_t max_inline;
  std::vector<Part> sq;
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> retired{0};
  std::atomic<std::uint64_t> reaped{0};
  std::uint64_t started = 0;
  std::size_t reads_under_way = 0;  ///< and atomics
  /// The Write of this kWriteImmediate was given out, its Immediate comes next.
  std::optional<std::uint64_t> immediate_due;
  bool waiting_for_pins = false;
  bool local_failure = false;

  ReceiveQueue rq;
  std::optional<PostedReceive> receive;  ///< taken for the Send that arrives now
  boost::container::static_vector<Grant, bytes::kMaxSge> receive_grants;
  /// The receive of a Send with Invalidate whose memory others still let go of.
  std::optional<WorkCompletion> invalidating;
  std::uint64_t srq_taken = 0;
  std::atomic<std::uint64_t> srq_reaped{0};
  bool hold_on_empty = false;

  Grant target;  ///< of the inbound Write segment under way
  Grant source;  ///< of the Read Response segment under way

  std::shared_ptr<QpDriver> driver;  ///< under `post`
  std::uint16_t ird = 0;
  bool extensions = false;  ///< of the connection, present or last
  /// The consumer's ORD limit, for this connection and later ones.
  std::uint16_t ord_limit = UINT16_MAX;
  std::atomic<std::uint16_t> ord = 0;                  ///< lowered by the consumer at any time
  std::optional<rdmap::Terminate> terminate_sent;      ///< under `post`
  std::optional<rdmap::Terminate> terminate_received;  ///< under `post`
  std::uint64_t octets_placed = 0;
  std::atomic<std::uint64_t> completions{0};  ///< also counted while posting without a driver

  /// Of a sequence that was posted.
  SendSlot& slot(std::uint64_t sequence) {
    const auto index = sequence % max_send_wr;
    return (*sq[index / kSlots].slots)[index % kSlots];
  }
  /// Of the one that is posted next, with room for inline payload if asked. nullptr: no memory.
  SendSlot* new_slot(std::uint64_t sequence, bool with_inline) {
    const auto index = sequence % max_send_wr;
    auto& [slots, inline_data] = sq[index / kSlots];
    try {
      if (slots == nullptr) slots = std::make_unique<std::array<SendSlot, kSlots>>();
      if (with_inline && inline_data == nullptr) {
        inline_data = std::make_unique_for_overwrite<std::byte[]>(kSlots * max_inline);
      }
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    SendSlot& out = (*slots)[index % kSlots];
    if (with_inline) out.inline_data = inline_data.get() + index % kSlots * max_inline;
    return &out;
  }
};

}  // namespace iwarp::verbs
