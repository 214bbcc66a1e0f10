// SPDX-License-Identifier: Apache-2.0
// Injects faults: hooks that count what a program does and carry out the rules that are due.
#pragma once

#include <memory>
#include <optional>

#include "faults/plan.hpp"
#include "process/core.hpp"

namespace iwarp::rdma_core::fault {

/// Returns the plan that the settings name, an empty plan if they only name a socket, or nullopt if
/// they ask for no faults. Logs one line, FILE:LINE: what is wrong, and throws std::system_error if
/// the plan is invalid.
std::optional<Plan> plan_of_settings();

std::unique_ptr<Hooks> make_hooks(Core& core, Plan plan, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::fault
