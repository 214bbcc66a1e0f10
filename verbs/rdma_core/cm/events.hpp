// SPDX-License-Identifier: Apache-2.0
// The service that delivers connection events of the device to ids or to OutOfBand, the bring-up
// without the CM. OutOfBand gets each connection request first and decides whether it is its own.
// It also gets the events of queue pairs without an id.
#pragma once

#include <memory>

#include "process/core.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Service> make_cm_events(Core& core);

}  // namespace iwarp::rdma_core
