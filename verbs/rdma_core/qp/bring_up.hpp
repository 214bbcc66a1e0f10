// SPDX-License-Identifier: Apache-2.0
// BringUp: the interface through which an RcQp is connected without rdma_cm, when the program moves
// it to RTR and RTS itself with ibv_modify_qp(). The folder bring_up/ implements this interface.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>

#include "process/service.hpp"

namespace iwarp::rdma_core {

class BringUp : public Service {
 public:
  /// Returns a number for a new queue pair. The number contains the TCP port at which peers connect
  /// to the queue pair. If connecting without rdma_cm is switched off, returns 0, and the core
  /// chooses a number itself. Throws std::system_error if no port is free.
  virtual std::uint32_t take_number() = 0;
  /// Releases a number after its queue pair was destroyed or could not be created. Ignores 0.
  virtual void release_number(std::uint32_t number) = 0;
  /// Call when the queue pair goes to RTR. Starts to wait for the peer that `attr` names. Returns 0
  /// or an errno. If connecting without rdma_cm is switched off, or the peer cannot be reached,
  /// logs the reason and returns EOPNOTSUPP. Returns another errno if this host cannot listen at
  /// its own address, or if its addresses cannot be read.
  virtual int ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) = 0;
  /// Call when the queue pair goes to RTS. Starts to connect it to its peer, and returns 0 or an
  /// errno without waiting for the result. If the attempt fails later, BringUp calls
  /// qp_disconnected().
  virtual int ready_to_send(RcQp& qp, std::uint32_t sq_psn) = 0;
  /// Call when the queue pair was moved to RESET or ERR. Stops both connecting to the peer and
  /// waiting for the peer to connect.
  virtual void give_up(RcQp& qp) = 0;
  /// Call when the queue pair goes to RTS before it is connected. Limits how long its requests wait
  /// for the peer to connect. If `limit` is 0, the requests wait without limit.
  virtual void limit_wait(verbs::QpNum num, std::chrono::nanoseconds limit) = 0;
  /// Cancels the limit that limit_wait() has set, because no request of the queue pair waits for a
  /// peer any more.
  virtual void end_wait(verbs::QpNum num) = 0;
};

}  // namespace iwarp::rdma_core
