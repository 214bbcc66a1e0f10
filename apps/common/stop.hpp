// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a descriptor: whoever waits, waits on it too, and destructors clean up.
#pragma once

namespace iwarp::apps {

/// From now on both signals make stop_fd() readable and do nothing else. Call once, before threads.
void catch_stop_signals();
/// Readable once a signal came; -1 when signals are not caught.
int stop_fd();
bool stop_requested();

}  // namespace iwarp::apps
