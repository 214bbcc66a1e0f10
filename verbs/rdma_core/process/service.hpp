// SPDX-License-Identifier: Apache-2.0
// Service: a part of the library that works in the background, in the dispatcher's thread. Core
// owns the services and uses them only through this interface. assembly.cpp makes them.
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

  // Only the dispatcher's thread calls the functions below.
  /// Returns a descriptor that is readable while check() has work to do, or -1 if it never has.
  virtual int fd() const { return -1; }
  virtual void check() {}
  /// Handles the event if it is for this service. Returns whether it was for this service.
  virtual bool takes(net::CmEvent& /*event*/) { return false; }
  virtual bool takes(const verbs::AsyncEvent& /*event*/) { return false; }
  /// Called after all available events were dispatched. Returns the time at which the dispatcher
  /// must call it again at the latest.
  virtual TimePoint finish_turn() { return TimePoint::max(); }

  // Threads of the program call the functions below.
  /// Called when the condition for which finish_turn() waits may have become true: the program has
  /// polled a queue whose Cq::is_watched finish_turn() had set, or has destroyed an object.
  virtual void look_again() {}
  /// Called before a region is deregistered or changed. Waits until posted requests no longer wait
  /// for a connection.
  virtual void await_posted() {}
  /// Called when the queue pair with this number goes to RESET. Its last connection is over.
  virtual void qp_reset(verbs::QpNum /*num*/) {}
  /// Called before the queue pair with this number is destroyed.
  virtual void qp_destroyed(verbs::QpNum /*num*/) {}
  /// Called when the program polls a failed completion of that queue pair that was not flushed.
  virtual void completion_failed(verbs::QpNum /*num*/) {}
  /// Returns the value for wc_vendor_err(), or 0 if the service has none for that queue pair.
  virtual std::uint32_t vendor_error(verbs::QpNum /*num*/) { return 0; }
};

}  // namespace iwarp::rdma_core
