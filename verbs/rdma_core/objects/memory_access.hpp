// SPDX-License-Identifier: Apache-2.0
// What a peer may do, as a memory window or a queue pair says it.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

/// The flags that are about the peer; others do not count.
inline verbs::Access remote_access(unsigned flags) {
  using verbs::Access;
  auto out = Access::kNone;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) out = out | Access::kRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) out = out | Access::kRemoteRead;
  if ((flags & IBV_ACCESS_REMOTE_ATOMIC) != 0) out = out | Access::kRemoteAtomic;
  return out;
}

/// nullopt: a window cannot give such a right.
inline std::optional<verbs::Access> window_access(unsigned flags) {
  // Some give the region's flags: the local right, which is the region's, asks for nothing.
  constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                              IBV_ACCESS_ZERO_BASED;
  if ((flags & ~kKnown) != 0) return std::nullopt;
  const auto remote = remote_access(flags);
  return (flags & IBV_ACCESS_ZERO_BASED) != 0 ? remote | verbs::Access::kZeroBased : remote;
}

}  // namespace iwarp::rdma_core
