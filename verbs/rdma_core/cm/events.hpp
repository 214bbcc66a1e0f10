// SPDX-License-Identifier: Apache-2.0
// The service that delivers connection events of the device to ids, or to OutOfBand, which connects
// queue pairs without the CM. OutOfBand gets each connection request first and decides whether the
// request is for one of its queue pairs. It also gets the events of queue pairs that have no id.
#pragma once

#include <memory>

#include "process/core.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Service> make_cm_events(Core& core);

}  // namespace iwarp::rdma_core
