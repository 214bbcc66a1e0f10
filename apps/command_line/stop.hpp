// SPDX-License-Identifier: Apache-2.0
// Makes a descriptor readable when SIGINT or SIGTERM arrives. Every blocking wait also polls this
// descriptor and throws Interrupted when it becomes readable, so that destructors run before the
// program ends.
#pragma once

#include <chrono>
#include <optional>

namespace iwarp::apps {

/// Installs the signal handlers: after this call, SIGINT and SIGTERM only make stop_fd() readable.
/// Call it once, before starting threads.
void catch_stop_signals();
/// Returns a descriptor that becomes readable when a stop signal arrives, or -1 if
/// catch_stop_signals() has not been called.
int stop_fd();
/// Returns whether a stop signal has arrived. Costs only one load, so a caller can poll it between
/// messages.
bool stop_requested();

/// The next stop signal after this call does not interrupt the command: only finish_requested()
/// reports it, so that the command can finish in an orderly way. A second stop signal interrupts
/// the command as usual.
void finish_on_next_stop();
/// Returns the time at which the first stop signal after the call of finish_on_next_stop() arrived,
/// or nullopt if none has arrived. Costs only one load.
std::optional<std::chrono::steady_clock::time_point> finish_requested();

}  // namespace iwarp::apps
