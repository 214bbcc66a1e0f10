// SPDX-License-Identifier: Apache-2.0
// Checker: implements careful mode (`iwarp run --careful`). hooks.cpp reports the program's calls
// to the Checker. The Checker records in a Ledger which memory the device may access. It logs usage
// that works with this library, but fails on hardware or in another run. It logs each kind of usage
// once for each place in the program. A process has a Checker only in careful mode. Otherwise no
// call is intercepted.
//
// One lock guards the Checker. The lock is also held during each post, so that the Ledger contains
// requests in the same order as the queues. A thread that holds the lock takes no other locks than
// those of Core and of the queues.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "careful/freed.hpp"
#include "careful/ledger.hpp"
#include "careful/site.hpp"
#include "careful/waits.hpp"
#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/types.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

class Core;
struct Cq;
struct Qp;

namespace careful {

class Checker {
 public:
  /// A function that posts the requests or receives, and returns 0 or an errno. The Checker calls
  /// it after it has recorded the requests.
  using Post = std::function<int()>;

  Checker(Core& core, const Settings& settings);

  int post_send(Qp& qp, ibv_send_wr* wr, ibv_send_wr** bad_wr, const Post& post);
  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr, const Post& post);
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr, const Post& post);
  /// Does the same as post_send(), for requests that the program has built with the builders of
  /// ibv_qp_ex. `post` must post all of them, or none.
  template <typename Wr>
  int post_all(Qp& qp, std::span<const Wr> wrs, const Post& post) {
    const auto lock = enter();
    sends(qp, wrs);
    const int code = post();
    if (code != 0) not_sent(qp, wrs.size());
    return code;
  }
  /// Call after a poll for at most `wanted` completions.
  void polled(const Cq& cq, std::span<const ibv_wc> completions, std::size_t wanted);
  void polled(const Cq& cq, const Completed& completion);

  /// Calls `use` with the Ledger, while the lock is held.
  template <typename Use>
  void with_ledger(Use use) {
    const auto lock = enter();
    use(ledger_);
  }
  /// Call before the program arms the queue.
  void arming(const Cq& cq);
  /// Call before `call` sends private data of `size` bytes. `limit` is the maximum with RoCE.
  void sending_private_data(const char* call, std::size_t size, std::size_t limit);
  void registered(std::uint32_t key, const RegionFacts& facts);
  void deregistered(std::uint32_t key);
  /// Call in the child of a fork. The child must call no other function of the Checker after that.
  void abandon() noexcept;

 private:
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
  void sends(Qp& qp, std::span<const verbs::SendWr> wrs);
  void sends(Qp& qp, std::span<const verbs::DatagramWr> wrs);
  void sends(Qp& qp, std::span<const SendRequest> requests);
  void not_sent(Qp& qp, std::size_t count);
  /// Call before the receive `wr` is posted. If a message has already waited for a receive longer
  /// than it could have waited with an adapter, reports this receive.
  void report_late(std::uint32_t qp, const ibv_recv_wr& wr);
  /// Records and posts receives. Call with the lock held.
  int receive(const void* queue, std::uint32_t qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr,
              const Post& post);
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

}  // namespace careful
}  // namespace iwarp::rdma_core
