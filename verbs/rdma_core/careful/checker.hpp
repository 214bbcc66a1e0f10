// SPDX-License-Identifier: Apache-2.0
// Checker: the Hooks of careful mode (`iwarp run --careful`). The Checker records in a Ledger which
// memory the device may access. It logs usage that works with this library, but fails on hardware
// or in another run. It logs each kind of usage once for each place in the program. A process has a
// Checker only in careful mode. Otherwise no call is intercepted.
//
// One lock guards the Checker. The lock is also held during each post, so that the Ledger contains
// requests in the same order as the queues. A thread that holds the lock takes no other locks than
// those of Core and of the queues.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "careful/freed.hpp"
#include "careful/ledger.hpp"
#include "careful/site.hpp"
#include "careful/waits.hpp"
#include "iwarp/verbs/types.hpp"
#include "process/core.hpp"
#include "process/settings.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core::careful {

// The next functions convert lists of requests.
inline std::vector<Piece> pieces_of(const ibv_sge* list, int count) {
  std::vector<Piece> out;
  out.reserve(static_cast<std::size_t>(std::max(count, 0)));
  for (int i = 0; i < count; ++i) out.push_back({list[i].addr, list[i].length, list[i].lkey});
  return out;
}

inline std::vector<Piece> pieces_of(std::span<const verbs::Sge> list) {
  std::vector<Piece> out;
  out.reserve(list.size());
  for (const verbs::Sge& sge : list) {
    out.push_back({reinterpret_cast<std::uintptr_t>(sge.address), sge.length, sge.lkey.value});
  }
  return out;
}

template <typename Wr>
std::size_t length_of(const Wr* wr) {
  std::size_t out = 0;
  for (; wr != nullptr; wr = wr->next) ++out;
  return out;
}

class Checker final : public Hooks {
 public:
  Checker(Core& core, const Settings& settings, std::unique_ptr<Hooks> behind);

  int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) override;
  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override;
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override;
  int post_built(Qp& qp) override;
  int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) override;
  int req_notify_cq(ibv_cq* cq, int solicited_only) override;
  int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) override {
    return polled(cq, behind().start_poll(cq, attr));
  }
  int next_poll(ibv_cq_ex* cq) override { return polled(cq, behind().next_poll(cq)); }

  // Reports the registered memory that the program has freed before the state of a queue pair
  // changes, because a report depends on the state at the time when the memory was freed.
  void changing_state() override {
    Hooks::changing_state();
    (void)enter();
  }
  void disconnecting(verbs::QpNum num) override {
    Hooks::disconnecting(num);
    ledger()->ending_qp(num);
  }
  void sleeping(CompChannel& channel, bool blocks) override {
    Hooks::sleeping(channel, blocks);
    ledger()->sleeps(&channel.abi, blocks, call_site());
  }
  void sending_private_data(const char* call, std::size_t size, std::size_t limit) override;

  void registered(Mr& mr) override;
  void deregistering(Mr& mr) override;
  void sized(Cq& cq, std::size_t capacity) override {
    Hooks::sized(cq, capacity);
    ledger()->made_cq(&cq, cq.abi.channel, capacity);
  }
  void took_event(Cq& cq) override {
    Hooks::took_event(cq);
    ledger()->took_event(&cq);
  }
  void destroying(Cq& cq) override;
  void destroying(Srq& srq) override {
    Hooks::destroying(srq);
    ledger()->destroyed_queue(&srq);
  }
  void made(Qp& qp) override;
  void reset(Qp& qp) override {
    Hooks::reset(qp);
    ledger()->stopped_qp(qp.num());
  }
  void recovered(Qp& qp) override {
    Hooks::recovered(qp);
    ledger()->recovered_qp(qp.num());
  }
  void destroying(Qp& qp) override {
    Hooks::destroying(qp);
    ledger()->destroyed_qp(qp.num(), call_site());
  }
  void abandon() noexcept override;

 private:
  /// The Ledger, and the lock that guards it.
  struct LockedLedger {
    std::unique_lock<std::mutex> lock;
    Ledger& ledger;
    Ledger* operator->() const { return &ledger; }
  };
  LockedLedger ledger() { return {enter(), ledger_}; }
  /// Takes the lock, and reports registered memory that was freed since the previous call of
  /// enter().
  std::unique_lock<std::mutex> enter();
  /// Does the same as enter(), but waits for the lock only for a limited time: the caller may have
  /// interrupted a thread that holds the lock. The result may hold no lock.
  std::unique_lock<std::mutex> try_enter();
  /// Called when a thread of the program is about to wait for descriptors.
  static void waiting(const Wait& wait);
  void report_freed();
  /// Reports registered memory that was freed, and stops watching for more.
  void end();
  static void end_of_present();
  static void end_with_main_thread();
  /// Records the result of start_poll() or next_poll(), and returns it.
  int polled(ibv_cq_ex* handle, int code);
  /// Record requests or receives that are about to be posted, or none if memory runs out. Call with
  /// the lock held.
  void sends(Qp& qp, std::span<const SendRequest> requests);
  void receives(const void* queue, std::uint32_t qp, const ibv_recv_wr* wr);
  /// Call before the receive `wr` is posted. If a message has already waited for a receive longer
  /// than it could have waited with an adapter, reports this receive.
  void report_late(std::uint32_t qp, const ibv_recv_wr& wr);
  void report(const Finding& finding);
  /// Logs a line that is not a Finding, for example a warning about the Checker itself. Logs each
  /// line only once.
  void say(const char* line);

  Core& core_;
  /// Path of the file to which each report is written, or empty if there is no file.
  const std::string reports_;
  std::mutex mutex_;
  std::set<std::pair<Check, Site>> said_;
  std::set<std::pair<Check, std::string>> places_;  ///< the places in `said_`, as text
  std::set<const char*> lines_;
  Ledger ledger_;
  FreedWatch freed_;
  /// Contains waiting() while a queue may have completions that cause no event. Null if
  /// libiwarp_careful.so.1 is not loaded.
  WaitHook* const wait_hook_;
};

}  // namespace iwarp::rdma_core::careful
