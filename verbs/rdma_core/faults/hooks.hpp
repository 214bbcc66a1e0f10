// SPDX-License-Identifier: Apache-2.0
// FaultHooks: the Hooks that inject faults. They count the program's calls, and carry out the rules
// that are due.
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
  Plan plan;         ///< the rules of the file; empty if there is no file
  std::string file;  ///< path of the file with the plan, or empty if there is no file
  /// Path of the socket over which clients may add rules, or empty if there is no socket.
  std::string socket;
};
/// Returns the faults that the settings request, or nullopt if they name neither a file nor a
/// socket. If the file cannot be read or its plan is invalid, logs the error, and throws
/// std::system_error.
std::optional<Demand> demand_of(const Settings& settings);

std::unique_ptr<Hooks> make_hooks(Core& core, Demand demand, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::fault
