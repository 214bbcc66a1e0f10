// SPDX-License-Identifier: Apache-2.0
// QpShared: the members that both halves of a queue pair share. They are its identity, its state,
// and the terms that its connection has negotiated.
#pragma once

#include <atomic>
#include <mutex>

#include "iwarp/bytes/mutex.hpp"
#include "iwarp/mpa/startup_types.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/qp_driver.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/queue_pair_port.hpp"
#include "iwarp/verbs/stream_end.hpp"
#include "queue_pair/completion_gate.hpp"

namespace iwarp::verbs {

/// Whether this end, and not the peer, has to end the stream, or something else is to be done once
/// the requests in progress are complete.
enum class LocalFailure : std::uint8_t {
  kNone,
  kPending,   ///< a request cannot be executed; the stream ends when all earlier ones are complete
  kDue,       ///< the stream has to end now
  kDraining,  ///< no failure: kSendsDrained is raised when all requests are complete
};

struct QpShared {
  const QpNum num;
  const QpInit init;
  StagTable& stags;
  const std::function<void(const AsyncEvent&)> on_event;

  std::atomic<Access> inbound = init.inbound;
  std::atomic<QpState> state{QpState::kIdle};
  std::atomic<std::uint64_t> completions{0};
  std::atomic<LocalFailure> local_failure{LocalFailure::kNone};
  /// Whether errors of requests and of the peer's messages do not end the stream; see
  /// make_unreliable().
  bool is_unreliable = false;
  /// Requests before this sequence number are flushed while the send queue is stopped.
  std::atomic<std::uint64_t> flush_before{0};
  /// whether query() reports a local error; keeps its value until the next connection
  std::atomic<bool> local_error{false};
  CompletionGate gate;

  mutable bytes::Mutex post;         ///< guards posting and the members below
  std::shared_ptr<QpDriver> driver;  ///< driver of the connection; null if not connected
  /// Whether abort() has been called. The code that ends the connection checks this flag, because
  /// the connection may end before the driver handles the abort.
  bool abort_asked = false;
  std::uint16_t ird = 0;
  bool peer_answers_none = false;  ///< whether the peer answers no Reads and atomics
  bool extensions = false;         ///< whether the present or last connection supports RFC 7306
  /// whether the present or last connection supports Send with Immediate
  bool send_immediate = false;
  /// The application's limit of ORD, for this connection and later ones.
  std::uint16_t ord_limit = UINT16_MAX;
  std::atomic<std::uint16_t> ord = 0;  ///< current ORD, which the application may lower at any time
  /// The application's PeerTimeouts. A negative receive_hold means that the application has not set
  /// it.
  std::atomic<mpa::Duration::rep> answer_limit{0};
  std::atomic<mpa::Duration::rep> receive_hold{-1};
  /// Arrival time on mpa::Clock of the message that waits for a receive; 0 if no message waits.
  std::atomic<mpa::Duration::rep> receive_awaited_since{0};
  std::optional<rdmap::Terminate> terminate_sent;
  std::optional<rdmap::Terminate> terminate_received;
  /// The first request of this connection that failed, for Connection::end(). Guarded by the
  /// connection lock.
  std::optional<EndedWork> failed_work;
  std::optional<RefusedMemory> refused_memory;
  /// whether a full completion queue has lost a completion
  std::atomic<bool> completion_lost{false};
  /// whether kFirstMessage is to be raised
  std::atomic<bool> reports_first{false};

  /// Returns an error if a request of RFC 7306 cannot be sent to the peer: the peer does not
  /// support it, or would wrongly conclude that its Immediate announces a Send. Otherwise returns
  /// no error.
  std::error_code refuses(WrOpcode opcode, std::uint64_t immediate) const;

  /// Returns the driver without locking. Only StreamPort and its parts may call this function, and
  /// only while the queue pair is connected: no other thread then changes `driver`.
  QpDriver* own_driver() const { return driver.get(); }
  std::shared_ptr<QpDriver> current_driver() const {
    const std::lock_guard lock(post);
    return driver;
  }
  /// Returns the driver as current_driver() does, and sets abort_asked while it holds the same
  /// lock.
  std::shared_ptr<QpDriver> driver_to_abort() {
    const std::lock_guard lock(post);
    abort_asked = driver != nullptr;
    return driver;
  }
  void async(AsyncEventType type, const std::optional<rdmap::Terminate>& terminate = {}) const {
    if (!on_event) return;
    on_event({.type = type, .qp_num = num, .object = nullptr, .terminate = terminate});
  }
  void push(CompletionQueue& cq, const WorkCompletion& wc, bool notify, Reaped reaped) {
    // Only one thread at a time calls this function: the thread that holds the connection lock, or
    // the thread that flushes.
    completions.store(completions.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!gate.lets_pass(wc.status)) [[unlikely]]
      return push_gated({&cq, wc, notify, reaped, is_unreliable && state == QpState::kRts});
    deliver(cq, wc, notify, reaped);
  }
  [[gnu::noinline]] void push_gated(const CompletionGate::Held& held) {
    if (!gate.hold(held)) deliver(*held.cq, held.wc, held.notify, held.reaped);
  }
  void note(const EndedWork& failed) {
    if (!failed_work) failed_work = failed;
  }
  void note(const RefusedMemory& refused) {
    if (!refused_memory) refused_memory = refused;
  }
  void announce(Announce what) {
    gate.set(what, [this](const CompletionGate::Held& held) {
      deliver(*held.cq, held.wc, held.notify, held.reaped);
    });
  }
  /// Lets every later completion pass. Delivers held completions that succeeded. Drops held
  /// completions that failed, and counts them as polled.
  void announce_successes() {
    gate.set(Announce::kAll, [this](const CompletionGate::Held& held) {
      if (held.wc.status == WcStatus::kSuccess) {
        deliver(*held.cq, held.wc, held.notify, held.reaped);
      } else if (held.reaped.counter != nullptr) {
        held.reaped.counter->store(held.reaped.value);
      }
    });
  }
  void deliver(CompletionQueue& cq, const WorkCompletion& wc, bool notify, Reaped reaped) {
    if (!CompletionQueuePort::push(cq, wc, notify, reaped)) [[unlikely]]
      lost(cq);
  }
  [[gnu::noinline]] void lost(CompletionQueue& cq) {
    if (on_event && CompletionQueuePort::take_overflow(cq)) {
      on_event({.type = AsyncEventType::kCqOverflow, .qp_num = num, .object = &cq});
    }
    completion_lost = true;
    local_failure = LocalFailure::kDue;  // Ends only this queue pair's stream. [RDMAP-117] [SEC-29]
  }
};

}  // namespace iwarp::verbs
