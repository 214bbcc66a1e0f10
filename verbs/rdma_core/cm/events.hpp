// SPDX-License-Identifier: Apache-2.0
// The service that passes connection events of the device either to an rdma_cm_id, or to OutOfBand,
// which connects queue pairs without the CM. OutOfBand gets each connection request first, and
// decides whether the request is for one of its queue pairs. It also gets the events of all queue
// pairs that have no rdma_cm_id.
#pragma once

#include <memory>
#include <vector>

#include "cm/id.hpp"
#include "process/core.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Service> make_cm_events(Core& core);

/// Accepts the request for which the id was made, with the numbers of Reads in CmId::numbers, and
/// queues ESTABLISHED. The program reads this event before any request that the client sends after
/// it has received the Reply: Cm::mutex is locked from before the Reply is sent until the event is
/// queued. If `held` is not null, stores ESTABLISHED there and does not queue it; the caller has to
/// queue it, with the dispatcher paused since before this call. Returns 0 or an errno. Call with
/// Core's queue pairs locked.
int accept_request(CmId& id, RcQp& qp, const std::vector<std::byte>& private_data,
                   std::unique_ptr<CmEventRecord>* held);

// cm/outcome.cpp defines the functions below, which convert an event of a connection to the rdma_cm
// event that the program gets, and to a log line.
/// Returns whether the program accepted the request, and the connection ended before the peer's RTR
/// message arrived. In this case the program, which got ESTABLISHED when it accepted, gets
/// DISCONNECTED instead of an error, as with the drivers of RNICs. A server must not see an error
/// that any host on the network can cause (decision 36).
bool ended_before_rtr(const CmId& id, const net::CmEvent& event);

struct Outcome {
  rdma_cm_event_type type;
  int status;
};

/// Returns the event and the status that the kernel's iWARP CM would report; with IWARP_AS=roce,
/// those that the InfiniBand CM would report. With IWARP_AS=roce, a client that has created its
/// queue pair itself gets CONNECT_RESPONSE instead of ESTABLISHED. The client then moves its queue
/// pair to RTS and calls rdma_establish().
Outcome outcome_of(const net::CmEvent& event, const CmId& id);

/// Logs the event, which must not be a connection request. If the reason why the connection ended
/// has already been logged (RcQp::end_reported), logs only the counters of the connection.
void log_outcome(CmId& id, const RcQp& qp, const net::CmEvent& event);

}  // namespace iwarp::rdma_core
