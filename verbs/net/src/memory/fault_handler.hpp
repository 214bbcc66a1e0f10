// SPDX-License-Identifier: Apache-2.0
// Installs signal handlers, so that a fault while this layer accesses application memory ends the
// connection instead of the process.
#pragma once

namespace iwarp::net {

/// Installs the handlers. If SIGSEGV or SIGBUS is raised while this layer accesses application
/// memory, the handler ends bytes::guarded(). It passes all other faults on to the handler that was
/// installed before. A handler that the application installs later replaces the handlers of this
/// layer, so call this function at each registration of memory. Thread-safe.
void catch_faults();

}  // namespace iwarp::net
