// SPDX-License-Identifier: Apache-2.0
// Injects faults: hooks that count what a program does and carry out the rules that are due.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "faults/plan.hpp"
#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::fault {

/// The faults that the settings request.
struct Demand {
  Plan plan;           ///< empty where there is no file
  std::string file;    ///< path of the plan; empty: none
  std::string socket;  ///< path where clients may add rules; empty: none
};
/// Returns the plan that the settings name, an empty plan if they only name a socket, or nullopt if
/// they request no faults. If the plan is invalid, logs one line, FILE:LINE and the error, and
/// throws std::system_error.
std::optional<Demand> demand_of(const Settings& settings);

std::unique_ptr<Hooks> make_hooks(Core& core, Demand demand, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::fault
