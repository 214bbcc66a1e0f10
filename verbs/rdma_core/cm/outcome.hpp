// SPDX-License-Identifier: Apache-2.0
// Converts an event of a connection to the event of its id that the program gets, and to a log
// line.
#pragma once

#include "cm/id.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {

/// Returns whether the program accepted the peer, and the connection ended before the peer's RTR
/// arrived. Drivers of RNICs then report ESTABLISHED and DISCONNECTED, no matter why: a server must
/// not see an error that any stranger can cause (decision 36).
bool ended_before_rtr(const CmId& id, const net::CmEvent& event);

struct Outcome {
  rdma_cm_event_type type;
  int status;
};

/// Returns the event and status that the kernel's iWARP CM reports. As RoCE they are those of the
/// InfiniBand CM: a client that created its queue pair itself gets CONNECT_RESPONSE, makes the
/// queue pair ready and calls rdma_establish().
Outcome outcome_of(const net::CmEvent& event, const CmId& id);

/// Logs the event, which must not be a request. If the log has already said why the connection
/// ended (RcQp::end_told), logs only its counters.
void log_outcome(CmId& id, const RcQp& qp, const net::CmEvent& event);

}  // namespace iwarp::rdma_core
