// SPDX-License-Identifier: Apache-2.0
// Bring-up without the CM: programs that exchange LID, GID and QPN themselves and then only call
// ibv_modify_qp() (ibv_rc_pingpong, perftest without -R). iWARP has nothing of the kind. Between
// two programs on this layer it works because these numbers say where to connect:
//
//   QPN = listener (8 bits) . TCP port (16 bits)      address: from the GID or LID, see port.hpp
//
// With the change to RTR the side with the smaller QPN connects and names both QPNs in its private
// data; the other waits for that. IWARP_OOB says with whom; the default is programs of this host.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "iwarp/net/connection_manager.hpp"

namespace iwarp::rdma_core {

class Core;
struct Qp;

/// A number for a new queue pair under which peers find it; 0: any will do. Throws
/// std::system_error when there is no port to listen on.
std::uint32_t oob_take_number(Core& core);
/// The queue pair is gone, or was never made. 0 does nothing.
void oob_release_number(Core& core, std::uint32_t number);
/// `attr` names the peer: connects, or awaits it. Does not wait; what becomes of it comes as
/// qp_disconnected() if it fails. EOPNOTSUPP and a line where this is off or the peer is out of
/// reach.
int oob_ready(Qp& qp, const ibv_qp_attr& attr);

// For the dispatcher.
/// True: the request is for a queue pair brought up like this; it is taken or kept for later.
bool oob_takes_request(Core& core, net::CmEvent& event);
/// About a queue pair that no id of the CM has.
void oob_event(Qp& qp, const net::CmEvent& event);

}  // namespace iwarp::rdma_core
