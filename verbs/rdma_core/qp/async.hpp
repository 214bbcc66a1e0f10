// SPDX-License-Identifier: Apache-2.0
// Declares the service that passes asynchronous events of the device to the program.
#pragma once

#include <memory>

#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

/// Creates the service. `persona` is the kind of adapter that the program sees: an RNIC or a RoCE
/// adapter.
std::unique_ptr<Service> make_async_events(Core& core, Persona persona);

}  // namespace iwarp::rdma_core
