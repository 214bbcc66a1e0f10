// SPDX-License-Identifier: Apache-2.0
// Installs signal handlers, so that a fault while this layer accesses application memory ends the
// message instead of the process.
#pragma once

namespace iwarp::net {

/// Installs the handlers. A SIGSEGV or SIGBUS while application memory is accessed ends
/// bytes::guarded(); all other signals are passed on to the handler that was installed before. A
/// handler that the application installs later replaces the handlers of this layer, so call this
/// function at each registration of memory. Thread-safe.
void catch_faults();

}  // namespace iwarp::net
