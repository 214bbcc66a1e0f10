// SPDX-License-Identifier: Apache-2.0
// Installs signal handlers, so that a fault while this layer accesses application memory ends the
// message and not the process.
#pragma once

namespace iwarp::net {

/// Installs the handlers. A SIGSEGV or SIGBUS while application memory is accessed ends
/// bytes::guarded(); any other is passed on to the handler that was installed before. A handler
/// that the application installs later replaces these handlers, so call this function whenever
/// memory is registered. Thread-safe.
void catch_faults();

}  // namespace iwarp::net
