// SPDX-License-Identifier: Apache-2.0
// Where careful mode gets in: hooks that tell the Checker what the program does.
#pragma once

#include <memory>

#include "process/core.hpp"

namespace iwarp::rdma_core::careful {

std::unique_ptr<Hooks> make_hooks(Core& core, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::careful
