// SPDX-License-Identifier: Apache-2.0
// Service: what works beside the calls of a program. Core owns the services and knows only this
// interface; assembly.cpp says which there are.
#pragma once

#include <chrono>
#include <cstdint>

#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

struct RcQp;

class Service {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Service() = default;
  virtual ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Called by the dispatcher's thread alone.
  /// Readable when check() has something to do; -1: never.
  virtual int fd() const { return -1; }
  virtual void check() {}
  /// Returns true if the event was for this service, which has then dealt with it.
  virtual bool takes(net::CmEvent& /*event*/) { return false; }
  virtual bool takes(const verbs::AsyncEvent& /*event*/) { return false; }
  /// After all events that there were. Returns when to be called again at the latest.
  virtual TimePoint finish_turn() { return TimePoint::max(); }

  // Called by threads of the program.
  /// What finish_turn() waits for may have happened: the program has polled a queue of which that
  /// has set Cq::is_watched, or destroyed something.
  virtual void look_again() {}
  /// Memory is about to be deregistered. Returns when what was posted before can do without.
  virtual void await_posted() {}
  /// The queue pair of that number goes to RESET; its last connection is over.
  virtual void qp_reset(verbs::QpNum /*num*/) {}
  /// The queue pair of that number is about to be destroyed.
  virtual void qp_destroyed(verbs::QpNum /*num*/) {}
  /// The program is given a failed completion of that queue pair that was not flushed.
  virtual void completion_failed(verbs::QpNum /*num*/) {}
  /// See wc_vendor_err(); 0: nothing is known of that queue pair.
  virtual std::uint32_t vendor_error(verbs::QpNum /*num*/) { return 0; }
};

}  // namespace iwarp::rdma_core
