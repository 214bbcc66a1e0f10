// SPDX-License-Identifier: Apache-2.0
// Descriptors that a program cannot use with select(2), for the adversary.
#pragma once

namespace iwarp::rdma_core {

/// If the adversary uses Freedom::kDescriptors and the process may open descriptors above
/// FD_SETSIZE, returns a duplicate of `fd` there, which the caller closes. Otherwise returns -1.
int high_duplicate(int fd);

}  // namespace iwarp::rdma_core
