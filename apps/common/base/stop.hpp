// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a descriptor: every blocking wait polls it, too, so that destructors still
// run.
#pragma once

#include <chrono>
#include <optional>

namespace iwarp::apps {

/// Makes both signals set stop_fd() readable and do nothing else. Call once, before starting
/// threads.
void catch_stop_signals();
/// Returns a descriptor that is readable once a signal has arrived; -1 if signals are not caught.
int stop_fd();
/// Returns whether a stop signal has arrived. Costs one load, so it can be polled between two
/// messages.
bool stop_requested();

/// Makes the next signal set only finish_requested(), so that the command can end in good order.
/// The signal after that stops the program as usual.
void finish_on_next_stop();
/// Returns when that signal arrived, or nullopt if it has not. Costs one load.
std::optional<std::chrono::steady_clock::time_point> finish_requested();

}  // namespace iwarp::apps
