// SPDX-License-Identifier: Apache-2.0
// BringUp: connects a queue pair without rdma_cm. Queue pairs call this interface, and the code in
// the folder bring_up/ implements it.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>

#include "process/service.hpp"

namespace iwarp::rdma_core {

class BringUp : public Service {
 public:
  /// Returns the number for a new queue pair, which contains the port at which peers connect to it.
  /// Returns 0 if bring-up without rdma_cm is off, because any number will do then. Throws
  /// std::system_error if no port is free.
  virtual std::uint32_t take_number() = 0;
  /// Releases a number after its queue pair was destroyed or could not be created. Ignores 0.
  virtual void release_number(std::uint32_t number) = 0;
  /// Call when the queue pair goes to RTR. Starts to wait for the peer that `attr` names. Returns 0
  /// or an errno. If bring-up without rdma_cm is off, or the peer is out of reach, logs the reason
  /// and returns EOPNOTSUPP. Returns another errno if this host cannot listen at the address, or
  /// its addresses cannot be read.
  virtual int ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) = 0;
  /// Call when the queue pair goes to RTS. Starts to connect, and does not wait for the result. If
  /// the connect fails later, calls qp_disconnected(). Returns 0 or an errno.
  virtual int ready_to_send(RcQp& qp, std::uint32_t sq_psn) = 0;
  /// Call when the queue pair is reset or in error. Stops connecting to the peer and waiting for
  /// it.
  virtual void give_up(RcQp& qp) = 0;
  /// Call when the queue pair is ready to send but not connected. Limits how long its requests wait
  /// for the peer. With `limit` 0 they wait without limit.
  virtual void limit_wait(verbs::QpNum num, std::chrono::nanoseconds limit) = 0;
  /// Cancels limit_wait(): requests of the queue pair no longer wait for a peer.
  virtual void end_wait(verbs::QpNum num) = 0;
};

}  // namespace iwarp::rdma_core
