// SPDX-License-Identifier: Apache-2.0
// What iWARP, or this layer, does not have is refused where it is asked for, and said once.
#pragma once

#include <string>
#include <vector>

#include "iwarp/verbs/log_record.hpp"
#include "iwarp/verbs/stream_end.hpp"

namespace iwarp::rdma_core {

/// A warning, "iwarp: WHAT is not supported: WHY", the first time `what` comes up in this process.
/// Both are string literals.
void refuse(const char* what, const char* why);
/// refuse(), and the errno for it: EOPNOTSUPP.
int refused(const char* what, const char* why);
/// Throws std::system_error with this errno, which the C interface turns back into one.
[[noreturn]] void fail(int code);
/// Returns true if IWARP_LOG asks for that level.
bool is_logged(verbs::LogLevel level);
/// One line on standard error, if is_logged().
void log_event(const verbs::LogRecord& record);
/// Why a call failed that names nothing unsupported: a warning.
void log_refusal(const std::string& line);
/// How a connection ended: information if nothing failed, else a warning. `message` names the peer.
void log_stream_end(const verbs::StreamEnd& end, const std::string& message,
                    std::vector<verbs::LogField> fields);
/// What becomes of connections: information.
void log_connection(const char* event, const std::string& line,
                    std::vector<verbs::LogField> fields = {});

}  // namespace iwarp::rdma_core
