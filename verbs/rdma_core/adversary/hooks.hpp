// SPDX-License-Identifier: Apache-2.0
// The Hooks of the adversary: a device that does what the standards permit and most devices never
// do. rfc-notes/adversary.md lists what it does, and the rule that permits it.
#pragma once

#include <memory>

#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

/// Call only if `settings.adversary` is set.
std::unique_ptr<Hooks> make_hooks(const Settings& settings, std::unique_ptr<Hooks> behind);

}  // namespace iwarp::rdma_core::adversary
