// SPDX-License-Identifier: Apache-2.0
// What iWARP, or this layer, does not have is refused where it is asked for, and said once.
#pragma once

#include <string>

namespace iwarp::rdma_core {

/// One line on standard error, "iwarp: WHAT is not supported: WHY", the first time `what` comes up
/// in this process; nothing with IWARP_LOG=off. Both are string literals.
void refuse(const char* what, const char* why);
/// refuse(), and the errno for it: EOPNOTSUPP.
int refused(const char* what, const char* why);
/// Throws std::system_error with this errno, which the C interface turns back into one.
[[noreturn]] void fail(int code);
/// Why a call failed that names nothing unsupported; nothing with IWARP_LOG=off.
void log_refusal(const std::string& line);
/// What becomes of connections, with IWARP_LOG=connections.
void log_connection(const std::string& line);

}  // namespace iwarp::rdma_core
