// SPDX-License-Identifier: Apache-2.0
// Turns SIGINT and SIGTERM into a readable descriptor. Every blocking wait also polls it and throws
// Interrupted, so that destructors run before the program ends.
#pragma once

#include <chrono>
#include <optional>

namespace iwarp::apps {

/// From now on, SIGINT and SIGTERM only make stop_fd() readable. Call once, before starting
/// threads.
void catch_stop_signals();
/// Returns a descriptor that is readable once a signal has arrived; -1 if signals are not caught.
int stop_fd();
/// Returns whether a stop signal has arrived. Costs one load, so it can be polled between two
/// messages.
bool stop_requested();

/// Makes the next stop signal set only finish_requested(), so that the command can end in good
/// order. The signal after that stops the program as usual.
void finish_on_next_stop();
/// Returns when the signal after finish_on_next_stop() arrived, or nullopt if it has not. Costs one
/// load.
std::optional<std::chrono::steady_clock::time_point> finish_requested();

}  // namespace iwarp::apps
