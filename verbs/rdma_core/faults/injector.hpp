// SPDX-License-Identifier: Apache-2.0
// Carries a plan out on the device of the process: what programs call is counted, and what is due
// happens in the calling thread, or, if its time has come, in a thread of its own
// (faults/clock.hpp). There is one only under `iwarp run --fault` or `--fault-socket`; without one,
// nothing is wrapped.
//
// Lock order: the locks of the core and the CM, then that of receives_, then mutex_ and that of
// datagrams_, leaves. No act is carried out under a lock of ours, and none in the wrapped system
// calls, whose thread drives a connection: these leave it to the clock.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "faults/book.hpp"
#include "faults/clock.hpp"
#include "faults/datagrams.hpp"
#include "faults/receives.hpp"
#include "faults/wire.hpp"

namespace iwarp::rdma_core {
class Core;
struct Context;
struct Qp;
struct Srq;
}  // namespace iwarp::rdma_core

namespace iwarp::rdma_core::fault {

class Injector {
 public:
  /// The Core lives as long as the process, and this with it.
  Injector(Core& core, Plan plan);
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;
  /// Its thread and its socket. Once.
  void start();

  // What is there.
  void opened(Context& context);
  void closed(Context& context);
  void made(const Qp& qp);
  /// It is in RESET: what it was, and what was posted to it, is forgotten.
  void reset(const Qp& qp);
  void gone(const Qp& qp);
  void gone(const Srq& srq) { receives_.forget(&srq); }

  // What programs do.
  /// A registration or creation: throws std::system_error when it is to fail.
  void call(Event event);
  /// A request: 0, or the errno that it fails with.
  int posted(Event event, std::uint32_t qp_num);
  /// A completion that the program is given: with which status.
  ibv_wc_status polled(std::uint32_t qp_num, bool is_receive, ibv_wc_status status);
  /// Of a device that is gone, posting is EIO.
  bool is_removed() const { return removed_.load(); }
  bool is_port_down() const { return port_down_.load(std::memory_order_relaxed); }
  HeldReceives& receives() { return receives_; }

  // For the clock.
  Book::Time now() const { return std::chrono::steady_clock::now() - opened_at_; }
  /// Does what is due, and says when the next is.
  std::optional<Book::Time> run();
  /// A rule that came through the socket; why not, or nothing.
  std::string add(Rule rule);
  std::vector<std::string> list();

  // For the wire.
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted);
  /// True: the connection is to be reset.
  bool passed(std::uint32_t connection, std::uint64_t octets);
  /// A datagram that is to leave. True: it is lost, or kept to leave later.
  bool takes_over(int fd, const msghdr& datagram);
  /// The kernel has not taken the next datagram of that queue pair, which is not to be counted
  /// twice.
  void comes_again(std::uint32_t qp_num);

 private:
  struct Known {
    std::uint32_t ordinal = 0;
    bool sends_failed = false;  ///< a completion said so: those behind it were flushed
    bool receives_failed = false;
    bool datagram_counted = false;  ///< the next one, which may leave
  };
  std::uint32_t ordinal(std::uint32_t qp_num) const;
  Hits count(Event event, std::uint32_t qp_num);
  void carry_out(const Hit& hit);
  void log(const Hit& hit);
  void log_full(std::uint32_t ordinal);
  std::vector<std::uint32_t> queue_pairs(const Hit& hit);
  void set_port(bool down, std::chrono::nanoseconds duration);
  void tell(int event);
  void remove_device();

  Core& core_;
  const std::chrono::steady_clock::time_point opened_at_ = std::chrono::steady_clock::now();
  std::atomic<bool> removed_{false};
  std::atomic<bool> port_down_{false};
  HeldReceives receives_;
  HeldDatagrams datagrams_;
  Wire wire_{*this};
  std::mutex mutex_;
  Book book_;
  std::unordered_map<std::uint32_t, Known> known_;  ///< by number of the queue pair
  std::uint32_t made_ = 0;
  std::set<Context*> contexts_;
  std::vector<Hit> for_clock_;
  std::optional<Book::Time> port_up_at_;
  Clock clock_{*this};
};

}  // namespace iwarp::rdma_core::fault
