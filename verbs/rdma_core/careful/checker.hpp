// SPDX-License-Identifier: Apache-2.0
// Careful mode (`iwarp run --careful`): hooks.cpp reports a program's calls to it. It tracks what
// the program lends to the device in a Ledger, and logs what works here but fails on hardware or on
// another day, each thing once for each place in the program. There is one Checker or none; without
// one, nothing is wrapped.
//
// One lock, held during each post as well, so that requests enter the Ledger in the order of the
// queues. Only the locks of Core and of the queues are taken under it.
#pragma once

#include <infiniband/verbs.h>

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
#include "iwarp/verbs/datagram_types.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

class Core;
struct Cq;
struct Qp;
struct Settings;

namespace careful {

class Checker {
 public:
  /// Posts the requests that the calling function was given. Returns 0 or an errno.
  using Post = std::function<int()>;

  Checker(Core& core, const Settings& settings);

  int post_send(Qp& qp, ibv_send_wr* wr, ibv_send_wr** bad_wr, const Post& post);
  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr, const Post& post);
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr, const Post& post);
  /// For requests built call by call: `post` posts all of them, or none.
  template <typename Wr>
  int post_all(Qp& qp, std::span<const Wr> wrs, const Post& post) {
    const auto lock = enter();
    sends(qp, wrs);
    const int code = post();
    if (code != 0) not_sent(qp, wrs.size());
    return code;
  }
  void polled(const Cq& cq, std::span<const ibv_wc> completions);
  void polled(const Cq& cq, const Completed& completion);

  /// Calls `use` with the Ledger, under the lock.
  template <typename Use>
  void with_ledger(Use use) {
    const auto lock = enter();
    use(ledger_);
  }
  void registered(std::uint32_t key, const RegionFacts& facts);
  void deregistered(std::uint32_t key);
  /// Called in the child of a fork, where no other function is called any more.
  void abandon() noexcept;

 private:
  /// Takes the lock, and reports what was freed since the last call.
  std::unique_lock<std::mutex> enter();
  void tell_freed();
  /// Reports what was freed, and stops watching.
  void end();
  static void end_of_present();
  static void end_with_main_thread();
  void sends(Qp& qp, std::span<const verbs::SendWr> wrs);
  void sends(Qp& qp, std::span<const verbs::DatagramWr> wrs);
  void sends(Qp& qp, std::span<const SendRequest> requests);
  void not_sent(Qp& qp, std::size_t count);
  /// Reports the receive, which is about to be posted, if a message has waited for it for longer
  /// than adapters let it wait.
  void tell_late(std::uint32_t qp, const ibv_recv_wr& wr);
  /// With the lock held.
  int receive(const void* queue, std::uint32_t qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr,
              const Post& post);
  void report(const Finding& finding);
  /// Logs a line that is not a finding; each line once.
  void say(const char* line);

  Core& core_;
  const std::string reports_;  ///< path of the file that counts them; empty: none
  std::mutex mutex_;
  std::set<std::pair<Check, Site>> said_;
  std::set<std::pair<Check, std::string>> places_;  ///< the same places as text
  std::set<const char*> lines_;
  Ledger ledger_;
  FreedWatch freed_;
};

}  // namespace careful
}  // namespace iwarp::rdma_core
