// SPDX-License-Identifier: Apache-2.0
// BringUp: how a queue pair comes to its peer without rdma_cm, as far as queue pairs need to know.
// The room bring_up/ implements it.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>

#include "process/service.hpp"

namespace iwarp::rdma_core {

class BringUp : public Service {
 public:
  /// A number for a new queue pair under which peers find it; 0: any will do, as this is off.
  /// Throws std::system_error when there is no port for it.
  virtual std::uint32_t take_number() = 0;
  /// The queue pair is gone, or was never made. 0 does nothing.
  virtual void release_number(std::uint32_t number) = 0;
  /// RTR: `attr` names the peer, which is awaited from now on. EOPNOTSUPP and a line where this is
  /// off or the peer is out of reach; another errno when this host cannot listen there, or does not
  /// say what addresses it has.
  virtual int ready_to_receive(RcQp& qp, const ibv_qp_attr& attr) = 0;
  /// RTS: connects. Does not wait: if it fails, the queue pair is told with qp_disconnected().
  virtual int ready_to_send(RcQp& qp, std::uint32_t sq_psn) = 0;
  /// The queue pair is reset or in error: it does not connect any more, and awaits no peer.
  virtual void give_up(RcQp& qp) = 0;
  /// The queue pair is ready to send and not connected: how long its requests may wait for the
  /// peer. 0: without end.
  virtual void limit_wait(verbs::QpNum num, std::chrono::nanoseconds limit) = 0;
  /// Requests of the queue pair wait for no peer any more.
  virtual void end_wait(verbs::QpNum num) = 0;
};

}  // namespace iwarp::rdma_core
