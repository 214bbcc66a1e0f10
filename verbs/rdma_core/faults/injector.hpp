// SPDX-License-Identifier: Apache-2.0
// Injector: carries a plan out on the device of the process. It counts the application's calls. The
// calling thread carries out the acts that are due; the Injector's own thread (faults/clock.hpp)
// carries out those of timed rules. An Injector exists only under `iwarp run --fault` or
// `--fault-socket`. Otherwise no call is intercepted.
//
// Lock order: the locks of the core and the CM, then that of receives_, then the leaves: mutex_ and
// the lock of datagrams_. No act is carried out while one of the Injector's locks is held. The
// replaced system calls carry no acts out either, because their thread drives a connection: they
// leave the acts to the clock's thread.
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
#include "faults/hooks.hpp"
#include "faults/receives.hpp"
#include "faults/wire.hpp"

namespace iwarp::rdma_core {
struct Context;
struct Qp;
struct Srq;
}  // namespace iwarp::rdma_core

namespace iwarp::rdma_core::fault {

class Injector {
 public:
  /// `core` must live as long as the Injector. Both live until the process ends.
  Injector(Core& core, Demand demand);
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;
  /// Starts the thread and the socket of the Injector. Call once.
  void start();

  // Objects.
  void opened(Context& context);
  void closed(Context& context);
  void made(const Qp& qp);
  /// Call when the queue pair is in RESET. Forgets its failed completions and its held receives.
  void reset(const Qp& qp);
  void gone(const Qp& qp);
  void gone(const Srq& srq) { receives_.forget(&srq); }

  // Events of the application.
  /// Counts a registration or creation. Throws std::system_error if it is to fail.
  void call(Event event);
  /// Counts a request. Returns 0, or the errno with which it is to fail.
  int posted(Event event, std::uint32_t qp_num);
  /// Counts a completion that the application polls. Returns the status to report.
  ibv_wc_status polled(std::uint32_t qp_num, bool is_receive, ibv_wc_status status);
  /// Returns whether the device was removed. Posts then fail with EIO.
  bool is_removed() const { return removed_.load(); }
  bool is_port_down() const { return port_down_.load(std::memory_order_relaxed); }
  HeldReceives& receives() { return receives_; }

  // The clock's thread calls the functions below.
  Book::Time now() const { return std::chrono::steady_clock::now() - opened_at_; }
  /// Carries out the acts that are due. Returns when the next act is due.
  std::optional<Book::Time> run();
  /// Adds a rule from the socket. Returns an error message; empty on success.
  std::string add(Rule rule);
  std::vector<std::string> list();

  // Wire calls the functions below.
  std::uint64_t room(std::uint32_t connection, std::uint64_t wanted);
  /// Returns whether the connection is to be reset.
  bool passed(std::uint32_t connection, std::uint64_t octets);
  /// Counts a datagram to be sent. Returns whether it is lost or delayed, so that the caller must
  /// not send it.
  bool takes_over(int fd, const msghdr& datagram);
  /// Call if the kernel has not accepted a datagram of that queue pair and the driver will send it
  /// again, so that it is not counted again.
  void comes_again(std::uint32_t qp_num);

 private:
  struct Known {
    std::uint32_t ordinal = 0;
    bool sends_failed = false;  ///< a completion of a request has failed, so later ones are flushed
    bool receives_failed = false;
    bool datagram_counted = false;  ///< the next datagram, which is sent again, was already counted
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
  const std::string file_;  ///< name of the file with the plan; empty: no file
  const std::chrono::steady_clock::time_point opened_at_ = std::chrono::steady_clock::now();
  std::atomic<bool> removed_{false};
  std::atomic<bool> port_down_{false};
  HeldReceives receives_;
  HeldDatagrams datagrams_;
  Wire wire_{*this};
  std::mutex mutex_;
  Book book_;
  std::unordered_map<std::uint32_t, Known> known_;  ///< by queue pair number
  std::uint32_t made_ = 0;
  std::set<Context*> contexts_;
  std::vector<Hit> for_clock_;
  std::optional<Book::Time> port_up_at_;
  Clock clock_;
};

}  // namespace iwarp::rdma_core::fault
