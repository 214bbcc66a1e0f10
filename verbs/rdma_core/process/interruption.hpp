// SPDX-License-Identifier: Apache-2.0
// Whether a signal interrupts a call that waits.
#pragma once

namespace iwarp::rdma_core {

/// Returns whether the program has installed a signal handler without SA_RESTART. The kernel
/// resumes a blocking read after a handler with SA_RESTART. poll(2) fails with EINTR after every
/// handler and does not report which signal it was, so the wait is resumed if all handlers have
/// SA_RESTART.
bool has_interrupting_handler();

}  // namespace iwarp::rdma_core
