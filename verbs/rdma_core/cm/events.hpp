// SPDX-License-Identifier: Apache-2.0
// The service that carries connection events of the device to ids, or to the bring-up without the
// CM: that is asked first whether a request is its own, and gets the events of queue pairs without
// an id.
#pragma once

#include <memory>

#include "process/core.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Service> make_cm_events(Core& core);

}  // namespace iwarp::rdma_core
