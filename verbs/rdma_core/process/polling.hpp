// SPDX-License-Identifier: Apache-2.0
// A function for calls that wait with poll(2).
#pragma once

namespace iwarp::rdma_core {

/// Returns whether the program has installed a signal handler without SA_RESTART. Call it when
/// poll(2) has failed with EINTR, to decide whether to wait again. With the kernel's channels, a
/// blocking read is resumed after a handler with SA_RESTART. poll(2) fails after every handler and
/// does not report which signal it was, so a caller waits again only if all handlers have
/// SA_RESTART.
bool has_interrupting_handler();

}  // namespace iwarp::rdma_core
