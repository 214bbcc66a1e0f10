// SPDX-License-Identifier: Apache-2.0
// The service that carries asynchronous events of the device to the program.
#pragma once

#include <memory>

#include "process/core.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Service> make_async_events(Core& core);

}  // namespace iwarp::rdma_core
