// SPDX-License-Identifier: Apache-2.0
// BringUp: connects a queue pair without rdma_cm. This is the interface that queue pairs use; the
// room bring_up/ implements it.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>

#include "process/service.hpp"

namespace iwarp::rdma_core {

class BringUp : public Service {
 public:
  /// Returns a number for a new queue pair by which peers reach it, or 0 if bring-up without
  /// rdma_cm is off and any number will do. Throws std::system_error if no port is free.
  virtual std::uint32_t take_number() = 0;
  /// Releases a number after the queue pair was destroyed, or could not be created. 0 does nothing.
  virtual void release_number(std::uint32_t number) = 0;
  /// The queue pair goes to RTR: starts waiting for the peer that `attr` names. Returns 0 or an
  /// errno. If bring-up without rdma_cm is off, or the peer is out of reach, logs the reason and
  /// returns EOPNOTSUPP. Returns another errno if this host cannot listen at the address, or its
  /// addresses cannot be read.
  virtual int ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) = 0;
  /// The queue pair goes to RTS: starts to connect, and does not wait. If the connect fails later,
  /// calls qp_disconnected(). Returns 0 or an errno.
  virtual int ready_to_send(RcQp& qp, std::uint32_t sq_psn) = 0;
  /// The queue pair is reset or in error: stops connecting and waiting for the peer.
  virtual void give_up(RcQp& qp) = 0;
  /// The queue pair is ready to send and not connected: limits how long its requests wait for the
  /// peer. 0: they wait without limit.
  virtual void limit_wait(verbs::QpNum num, std::chrono::nanoseconds limit) = 0;
  /// Cancels limit_wait(): requests of the queue pair no longer wait for a peer.
  virtual void end_wait(verbs::QpNum num) = 0;
};

}  // namespace iwarp::rdma_core
