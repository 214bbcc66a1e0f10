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
/// queued. Returns 0 or an errno. Call with Core's queue pairs locked.
int accept_request(CmId& id, RcQp& qp, const std::vector<std::byte>& private_data);

}  // namespace iwarp::rdma_core
