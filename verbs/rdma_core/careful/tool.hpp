// SPDX-License-Identifier: Apache-2.0
// Runs a tool without a visible effect on the program: the program gets no SIGCHLD, and none of its
// wait() calls returns the process id of the tool.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace iwarp::rdma_core::careful {

using Words = std::vector<std::string>;

/// Runs the first of `commands` that is found in PATH, and returns its standard output. Returns an
/// empty string if none of the commands could be run, if the command ran longer than ten seconds,
/// or if its output exceeds 1 MiB. The environment of the command contains only PATH.
std::string output_of(std::span<const Words> commands);

}  // namespace iwarp::rdma_core::careful
