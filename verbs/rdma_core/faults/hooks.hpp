// SPDX-License-Identifier: Apache-2.0
// Where faults get in: hooks that count what a program does and let what is due happen.
#pragma once

#include <memory>
#include <optional>

#include "faults/plan.hpp"
#include "process/core.hpp"

namespace iwarp::rdma_core::fault {

/// The plan that the settings name, empty where there is but a socket; nullopt: nothing is asked
/// for. Throws std::system_error after one line, FILE:LINE: what is wrong.
std::optional<Plan> plan_of_settings();

std::unique_ptr<Hooks> make_hooks(Core& core, Plan plan, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::fault
