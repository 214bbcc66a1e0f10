// SPDX-License-Identifier: Apache-2.0
// Explains the errors of the calls that bring up a connection, and the events of rdma_cm.
#pragma once

#include <string_view>
#include <vector>

#include "explain_error/error_code.hpp"

namespace iwarp::apps {

/// Returns what is known of the errors of `call`, such as "ibv_modify_qp", the most frequent one
/// first. For an event such as "RDMA_CM_EVENT_REJECTED", returns what is known of its statuses. If
/// `error` is not empty, returns only the error with this name ("EINVAL"). An empty
/// `call` stands for all calls, and then all events.
std::vector<ErrorCode> find_call_errors(std::string_view call, std::string_view error);

}  // namespace iwarp::apps
