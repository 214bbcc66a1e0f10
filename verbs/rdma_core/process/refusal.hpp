// SPDX-License-Identifier: Apache-2.0
// Functions that write the log. The log reports each unsupported feature once, and also failed
// calls and events of connections.
#pragma once

#include <string>
#include <vector>

#include "iwarp/verbs/log_record.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::rdma_core {

/// Logs the warning "iwarp: WHAT is not supported: WHY", once for each `what` in this process.
/// `what` and `why` must be string literals.
void refuse(const char* what, const char* why);
/// Calls refuse() and returns EOPNOTSUPP.
int refused(const char* what, const char* why);
/// Throws std::system_error with the errno `code`. guarded() converts this exception back to the
/// errno.
[[noreturn]] void fail(int code);
/// Returns whether IWARP_LOG includes messages of this level.
bool is_logged(verbs::LogLevel level);
/// Writes one line to standard error if is_logged() for the level of the record.
void log_event(const verbs::LogRecord& record);
/// Logs `line`, which says why a call failed, as a warning. For an unsupported feature, call
/// refuse() instead.
void log_refusal(const std::string& line);
/// Logs how a connection ended: at level information if nothing failed, and otherwise as a warning.
/// `message` is the text of the log line and names the peer.
void log_stream_end(const verbs::StreamEnd& end, const std::string& message,
                    std::vector<verbs::LogField> fields);
/// Logs an event of a connection at level information.
void log_connection(const char* event, const std::string& line,
                    std::vector<verbs::LogField> fields = {});

}  // namespace iwarp::rdma_core
