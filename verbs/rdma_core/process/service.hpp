// SPDX-License-Identifier: Apache-2.0
// Service: a part of the library that works in the dispatcher thread, in the background. Core owns
// the services, which assembly.cpp makes, and uses them only through this interface.
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

  // Only the dispatcher thread calls the functions below.
  /// Returns a descriptor that is readable while check() has work to do. Returns -1 if check()
  /// never has work to do.
  virtual int fd() const { return -1; }
  virtual void check() {}
  /// Returns whether the event is meant for this service. If it is, handles the event. Otherwise
  /// the dispatcher passes the event to the next service.
  virtual bool takes(net::CmEvent& /*event*/) { return false; }
  virtual bool takes(const verbs::AsyncEvent& /*event*/) { return false; }
  /// The dispatcher calls this function after it has dispatched all available events. Returns the
  /// latest time at which the dispatcher must call this function again.
  virtual TimePoint finish_turn() { return TimePoint::max(); }

  // Threads of the program call the functions below.
  /// Called when finish_turn() should check its conditions again: when the program has polled a
  /// completion queue with Cq::is_watched set, or has destroyed an object.
  virtual void recheck() {}
  /// Called before a region is deregistered or changed. Waits while a queue pair that has posted
  /// requests is still being connected.
  virtual void await_posted() {}
  /// Called when the program resets the queue pair with this number, after the connection of the
  /// queue pair is over.
  virtual void qp_reset(verbs::QpNum /*num*/) {}
  /// Called before the queue pair with this number is destroyed.
  virtual void qp_destroyed(verbs::QpNum /*num*/) {}
  /// Called when the program polls a failed completion of this queue pair, except for receives that
  /// were flushed. `flushed` is true for a request that was flushed.
  virtual void completion_failed(verbs::QpNum /*num*/, bool /*flushed*/) {}
  /// Returns the value of wc_vendor_err() for a failed request of this queue pair, or 0 if this
  /// service has no value for it.
  virtual std::uint32_t vendor_error(verbs::QpNum /*num*/) { return 0; }
};

}  // namespace iwarp::rdma_core
