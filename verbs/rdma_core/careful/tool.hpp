// SPDX-License-Identifier: Apache-2.0
// Runs a tool from within a program that must not notice it: the program gets no SIGCHLD, and none
// of its wait() calls returns the tool.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace iwarp::rdma_core::careful {

using Words = std::vector<std::string>;

/// Returns what the first of `commands` that is found in PATH writes to its standard output, within
/// ten seconds and a mebibyte; empty if none could be run. Its environment is PATH alone.
std::string output_of(std::span<const Words> commands);

}  // namespace iwarp::rdma_core::careful
