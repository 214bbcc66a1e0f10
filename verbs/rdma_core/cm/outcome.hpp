// SPDX-License-Identifier: Apache-2.0
// What an event of a connection means for the id that has it: the event that the program gets, and
// what the log says.
#pragma once

#include "cm/id.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {

/// The program accepted the peer, and the connection ended before the peer's RTR arrived. Whatever
/// the peer did instead, drivers of RNICs report ESTABLISHED and then DISCONNECTED: a server must
/// not see an error that any stranger can cause (decision 36).
bool ended_before_rtr(const CmId& id, const net::CmEvent& event);

struct Outcome {
  rdma_cm_event_type type;
  int status;
};

/// As the kernel's iWARP CM says it; that of InfiniBand leaves it to who connects with a queue pair
/// of its own to make that ready, and say so by rdma_establish().
Outcome outcome_of(const net::CmEvent& event, const CmId& id);

/// Not for requests. Of an end only what the log has not said yet (RcQp::end_told).
void log_outcome(CmId& id, const RcQp& qp, const net::CmEvent& event);

}  // namespace iwarp::rdma_core
