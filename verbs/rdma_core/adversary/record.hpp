// SPDX-License-Identifier: Apache-2.0
// The record of what the adversary did. `iwarp run` reads its end after a failure.
#pragma once

#include <string_view>

namespace iwarp::rdma_core::adversary {

/// Returns whether settings().adversary_record names a file. If not, note() does nothing.
bool is_recorded();
/// Appends a line with the time, the process id and `what` to the record. Thread-safe.
void note(std::string_view what);

}  // namespace iwarp::rdma_core::adversary
