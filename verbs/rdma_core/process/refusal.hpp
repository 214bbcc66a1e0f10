// SPDX-License-Identifier: Apache-2.0
// The log. It contains unsupported features (each once), failed calls, and events of connections.
#pragma once

#include <string>
#include <vector>

#include "iwarp/verbs/log_record.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::rdma_core {

/// Logs the warning "iwarp: WHAT is not supported: WHY", once for each `what` in this process. Both
/// must be string literals.
void refuse(const char* what, const char* why);
/// Calls refuse() and returns EOPNOTSUPP.
int refused(const char* what, const char* why);
/// Throws std::system_error with this errno. guarded() converts the exception back to the errno.
[[noreturn]] void fail(int code);
/// Returns whether IWARP_LOG includes that level.
bool is_logged(verbs::LogLevel level);
/// Writes one line to standard error if is_logged() for the level of the record.
void log_event(const verbs::LogRecord& record);
/// Logs as a warning why a call failed. For unsupported features call refuse() instead.
void log_refusal(const std::string& line);
/// Logs how a connection ended: as information if nothing failed, else as a warning. `message`
/// names the peer.
void log_stream_end(const verbs::StreamEnd& end, const std::string& message,
                    std::vector<verbs::LogField> fields);
/// Logs an event of a connection as information.
void log_connection(const char* event, const std::string& line,
                    std::vector<verbs::LogField> fields = {});

}  // namespace iwarp::rdma_core
