// SPDX-License-Identifier: Apache-2.0
// Rights that a memory window gives.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

/// nullopt: a window cannot give such a right.
inline std::optional<verbs::Access> window_access(unsigned flags) {
  using verbs::Access;
  constexpr unsigned kKnown = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                              IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
  if ((flags & ~kKnown) != 0) return std::nullopt;
  auto out = Access::kNone;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) out = out | Access::kRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) out = out | Access::kRemoteRead;
  if ((flags & IBV_ACCESS_REMOTE_ATOMIC) != 0) out = out | Access::kRemoteAtomic;
  if ((flags & IBV_ACCESS_ZERO_BASED) != 0) out = out | Access::kZeroBased;
  return out;
}

}  // namespace iwarp::rdma_core
