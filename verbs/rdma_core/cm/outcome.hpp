// SPDX-License-Identifier: Apache-2.0
// Converts an event of a connection to the rdma_cm event that the program gets for its id, and to a
// log line.
#pragma once

#include "cm/id.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {

/// Returns whether the program accepted the peer, and the connection ended before the peer's RTR
/// arrived. The program then gets ESTABLISHED and DISCONNECTED instead of an error, as with the
/// drivers of RNICs: a server must not see an error that any host on the network can cause
/// (decision 36).
bool ended_before_rtr(const CmId& id, const net::CmEvent& event);

struct Outcome {
  rdma_cm_event_type type;
  int status;
};

/// Returns the event and status that the kernel's iWARP CM would report, or as RoCE those of the
/// InfiniBand CM. With the latter, a client that created its queue pair itself gets
/// CONNECT_RESPONSE instead of ESTABLISHED. It then moves its queue pair to RTS and calls
/// rdma_establish().
Outcome outcome_of(const net::CmEvent& event, const CmId& id);

/// Logs the event, which must not be a request. If the log has already said why the connection
/// ended (RcQp::end_told), logs only its counters.
void log_outcome(CmId& id, const RcQp& qp, const net::CmEvent& event);

}  // namespace iwarp::rdma_core
