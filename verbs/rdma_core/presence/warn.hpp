// SPDX-License-Identifier: Apache-2.0
// Prints a warning of the presence library.
#pragma once

#include <string>

namespace iwarp::rdma_core::presence {

/// Writes one line to standard error, unless IWARP_LOG excludes warnings. Calls no function that
/// this library replaces.
void warn(const char* event, const std::string& message);

}  // namespace iwarp::rdma_core::presence
