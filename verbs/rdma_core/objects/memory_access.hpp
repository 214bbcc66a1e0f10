// SPDX-License-Identifier: Apache-2.0
// Converts the access flags of memory windows and queue pairs to the rights of the peer.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

/// Returns the peer's rights for the flags of remote access. Ignores all other flags.
inline verbs::Access remote_access(unsigned flags) {
  using verbs::Access;
  auto out = Access::kNone;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) out = out | Access::kRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) out = out | Access::kRemoteRead;
  if ((flags & IBV_ACCESS_REMOTE_ATOMIC) != 0) out = out | Access::kRemoteAtomic;
  return out;
}

/// Returns the peer's rights to a window, or nullopt if `flags` has one that a window cannot grant.
inline std::optional<verbs::Access> window_access(unsigned flags) {
  // Some programs pass the region's flags, so IBV_ACCESS_LOCAL_WRITE is accepted and ignored.
  constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                              IBV_ACCESS_ZERO_BASED;
  if ((flags & ~kKnown) != 0) return std::nullopt;
  const auto remote = remote_access(flags);
  return (flags & IBV_ACCESS_ZERO_BASED) != 0 ? remote | verbs::Access::kZeroBased : remote;
}

}  // namespace iwarp::rdma_core
