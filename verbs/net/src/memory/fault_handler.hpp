// SPDX-License-Identifier: Apache-2.0
// Lets a fault in application memory that this layer accesses end the message, not the process.
#pragma once

namespace iwarp::net {

/// Installs the handlers: a SIGSEGV or SIGBUS while application memory is accessed ends
/// bytes::guarded(), and all others go to the handler that was there before. A handler that the
/// application installs later takes their place, so call this whenever memory is registered.
/// Thread-safe.
void catch_faults();

}  // namespace iwarp::net
