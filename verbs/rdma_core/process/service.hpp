// SPDX-License-Identifier: Apache-2.0
// Service: work that the library does in the background, in the dispatcher's thread. Core owns the
// services and knows only this interface; assembly.cpp makes them.
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

  // Called only by the dispatcher's thread.
  /// Returns a descriptor that is readable while check() has work to do, or -1 if it never has.
  virtual int fd() const { return -1; }
  virtual void check() {}
  /// Handles the event if it is for this service. Returns whether it was.
  virtual bool takes(net::CmEvent& /*event*/) { return false; }
  virtual bool takes(const verbs::AsyncEvent& /*event*/) { return false; }
  /// Called after all available events were dispatched. Returns the deadline of the next call.
  virtual TimePoint finish_turn() { return TimePoint::max(); }

  // Called by threads of the program.
  /// The condition that finish_turn() waits for may hold now: the program has polled a queue whose
  /// Cq::is_watched finish_turn() had set, or destroyed an object.
  virtual void look_again() {}
  /// Memory is about to be deregistered. Returns when requests that were posted before no longer
  /// need it.
  virtual void await_posted() {}
  /// The queue pair of that number goes to RESET; its last connection is over.
  virtual void qp_reset(verbs::QpNum /*num*/) {}
  /// The queue pair of that number is about to be destroyed.
  virtual void qp_destroyed(verbs::QpNum /*num*/) {}
  /// The program polls a completion of that queue pair that failed and was not flushed.
  virtual void completion_failed(verbs::QpNum /*num*/) {}
  /// Returns the value for wc_vendor_err(), or 0 if the service has none for that queue pair.
  virtual std::uint32_t vendor_error(verbs::QpNum /*num*/) { return 0; }
};

}  // namespace iwarp::rdma_core
