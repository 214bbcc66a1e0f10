// SPDX-License-Identifier: Apache-2.0
// Where a program called the C interface: the return address and those of a few callers. Functions
// of rdma-core's headers are inline, except in programs built without optimization: there the first
// address is in ibv_post_send() for every call of it.
#pragma once

#include <array>
#include <cstddef>

namespace iwarp::rdma_core::careful {

/// Return addresses in the program, innermost first; null after the last known one.
struct Place {
  static constexpr std::size_t kFrames = 5;  // such as rdma_post_send(), and two callers
  std::array<const void*, kFrames> frames{};
  bool operator<(const Place& other) const { return frames < other.frames; }
};

/// Places are stored once and never freed.
using Site = const Place*;

/// Returns the place of an address alone. Thread-safe, as are all functions here.
Site site_at(const void* address);
/// Returns the place of the call to the C interface that this thread is in, or null if it is in
/// none.
Site call_site();

}  // namespace iwarp::rdma_core::careful
