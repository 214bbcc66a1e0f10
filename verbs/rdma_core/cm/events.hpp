// SPDX-License-Identifier: Apache-2.0
// The service that passes connection events of the device either to an rdma_cm_id, or to OutOfBand,
// which connects queue pairs without the CM. OutOfBand gets each connection request first, and
// decides whether the request is for one of its queue pairs. It also gets the events of all queue
// pairs that have no rdma_cm_id.
#pragma once

#include <memory>

#include "process/core.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Service> make_cm_events(Core& core);

}  // namespace iwarp::rdma_core
