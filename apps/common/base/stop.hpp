// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a descriptor: whoever waits, waits on it too, and destructors clean up.
#pragma once

#include <chrono>
#include <optional>

namespace iwarp::apps {

/// From now on both signals make stop_fd() readable and do nothing else. Call once, before threads.
void catch_stop_signals();
/// Readable once a signal came; -1 when signals are not caught.
int stop_fd();
/// Costs one load, so it may be asked between two messages.
bool stop_requested();

/// The next signal only sets finish_requested(): the command ends in good order. The one after that
/// acts as all do.
void finish_on_next_stop();
/// When that signal came; nullopt: it has not. Costs one load.
std::optional<std::chrono::steady_clock::time_point> finish_requested();

}  // namespace iwarp::apps
