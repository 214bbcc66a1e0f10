// SPDX-License-Identifier: Apache-2.0
// Whether a signal that came ends a call that waits.
#pragma once

namespace iwarp::rdma_core {

/// The kernel goes on waiting behind a handler with SA_RESTART. poll(2) does not, nor does it say
/// which signal came: so a program without a handler that interrupts is not interrupted.
bool has_interrupting_handler();

}  // namespace iwarp::rdma_core
