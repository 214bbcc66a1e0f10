// SPDX-License-Identifier: Apache-2.0
// CarefulHooks: the Hooks that report the program's calls to the Checker.
#pragma once

#include <memory>

#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::careful {

std::unique_ptr<Hooks> make_hooks(Core& core, const Settings& settings,
                                  std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::careful
