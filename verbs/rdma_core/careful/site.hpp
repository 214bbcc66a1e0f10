// SPDX-License-Identifier: Apache-2.0
// Site: a place at which a program called the C interface. It is the return address of the call and
// those of a few callers. Functions of rdma-core's headers are inline. In programs that were built
// without optimization they are not inlined, so the first address of each post is in
// ibv_post_send(), and the callers are needed to distinguish the places.
#pragma once

#include <array>
#include <cstddef>

namespace iwarp::rdma_core::careful {

/// Return addresses in the program, innermost first; null after the last known one.
struct Place {
  // Room for header functions such as rdma_post_send(), and two callers.
  static constexpr std::size_t kFrames = 5;
  std::array<const void*, kFrames> frames{};
  bool operator<(const Place& other) const { return frames < other.frames; }
};

/// Places are stored once and never freed.
using Site = const Place*;

/// Returns a place that has only this address, without callers. All functions here are thread-safe.
Site site_at(const void* address);
/// Returns the place of the call to the C interface that this thread is executing, or null if it
/// executes none.
Site call_site();

}  // namespace iwarp::rdma_core::careful
