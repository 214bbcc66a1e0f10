// SPDX-License-Identifier: Apache-2.0
// Converts IBV_ACCESS_* flags to the peer's access rights.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

/// Returns the peer's access rights for the IBV_ACCESS_REMOTE_* flags. Ignores all other flags.
inline verbs::Access remote_access(unsigned flags) {
  using verbs::Access;
  auto out = Access::kNone;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) out = out | Access::kRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) out = out | Access::kRemoteRead;
  if ((flags & IBV_ACCESS_REMOTE_ATOMIC) != 0) out = out | Access::kRemoteAtomic;
  return out;
}

/// Returns the peer's access rights to a window, or nullopt if `flags` contains a flag that is not
/// allowed for a window.
inline std::optional<verbs::Access> window_access(unsigned flags) {
  // Accepts and ignores IBV_ACCESS_LOCAL_WRITE, because some programs pass the flags of the region
  // here.
  constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                              IBV_ACCESS_ZERO_BASED;
  if ((flags & ~kKnown) != 0) return std::nullopt;
  const auto remote = remote_access(flags);
  return (flags & IBV_ACCESS_ZERO_BASED) != 0 ? remote | verbs::Access::kZeroBased : remote;
}

}  // namespace iwarp::rdma_core
