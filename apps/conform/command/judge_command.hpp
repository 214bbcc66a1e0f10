// SPDX-License-Identifier: Apache-2.0
// iwarp conform --device: runs the judge of devices, a program of its own.
#pragma once

#include <string>
#include <vector>

namespace iwarp::apps::conform {

/// Replaces this process by the judge with these options. If `run_options` has options of `iwarp
/// run`, the judge sees the device of this stack, otherwise the devices that this process sees.
/// Throws Error if the judge cannot be executed.
[[noreturn]] void become_judge(const std::vector<std::string>& run_options,
                               const std::vector<std::string>& options);

}  // namespace iwarp::apps::conform
