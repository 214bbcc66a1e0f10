// SPDX-License-Identifier: Apache-2.0
// FaultHooks: hooks that count the program's calls and carry out the rules that are due.
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
  Plan plan;           ///< empty if there is no file
  std::string file;    ///< path of the file with the plan; empty: no file
  std::string socket;  ///< path of the socket at which clients may add rules; empty: no socket
};
/// Returns the plan that the settings name, an empty plan if they only name a socket, or nullopt if
/// they request no faults. If the plan is invalid, logs FILE:LINE with the error, and throws
/// std::system_error.
std::optional<Demand> demand_of(const Settings& settings);

std::unique_ptr<Hooks> make_hooks(Core& core, Demand demand, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::fault
