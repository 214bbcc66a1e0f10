// SPDX-License-Identifier: Apache-2.0
// Faults in memory of the program that we were touching end the message, not the process.
#pragma once

namespace iwarp::net {

/// From now on a SIGSEGV or SIGBUS while memory of the program is touched ends bytes::guarded(),
/// and all others go where they went before. Until the program installs a handler of its own: to be
/// called again whenever memory is registered. Thread safe.
void catch_faults();

}  // namespace iwarp::net
