// SPDX-License-Identifier: Apache-2.0
// Where a program called the C interface: the return address, and those of a few of its callers.
// Functions of rdma-core's headers are inline, but not in programs that are built without
// optimization: there the first address is in ibv_post_send() for every call of it.
#pragma once

#include <array>
#include <cstddef>

namespace iwarp::rdma_core::careful {

/// Return addresses in the program, innermost first; null behind the last one that is known.
struct Place {
  static constexpr std::size_t kFrames = 5;  // rdma_post_send() and its like, and two callers
  std::array<const void*, kFrames> frames{};
  bool operator<(const Place& other) const { return frames < other.frames; }
};

/// Places are kept for as long as the process runs, each once.
using Site = const Place*;

/// The place of an address alone. Thread-safe, as are all functions here.
Site site_at(const void* address);
/// The place of the call that the C interface runs in this thread; null: it runs none.
Site call_site();

}  // namespace iwarp::rdma_core::careful
