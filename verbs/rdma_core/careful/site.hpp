// SPDX-License-Identifier: Apache-2.0
// Site: a place in the program at which it called the C interface. A Site consists of the return
// address of the call and the return addresses of a few callers. The callers are needed because
// rdma-core's headers contain inline functions. If a program was built without optimization, these
// functions are not inlined. So the first address for each post is in ibv_post_send(), and only the
// callers distinguish the places.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace iwarp::rdma_core::careful {

/// Return addresses in the program, the innermost one first. The entries after the last known
/// address are null.
struct CallStack {
  // Five addresses are enough for two callers and up to three nested header functions, for example
  // rdma_post_send(), rdma_post_sendv() and ibv_post_send().
  static constexpr std::size_t kFrames = 5;
  std::array<const void*, kFrames> frames{};
  bool operator<(const CallStack& other) const { return frames < other.frames; }
};

/// A pointer to a place. Each place is stored once and never freed.
using Site = const CallStack*;

/// Returns a place that consists of this address only, without callers, or null if memory runs out.
/// Thread-safe.
Site site_at(const void* address);
/// If this thread is executing a call of the C interface, returns the place of that call.
/// Otherwise, or if memory runs out, returns null. Thread-safe.
Site call_site();

/// A place as text. The file and the line are known if the program has debug information and libdw
/// is installed.
struct Description {
  std::string place;   ///< "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)"
  std::string caller;  ///< the place of the caller, in the same form; empty if it is not known
};

/// Describes the place. If `site` is null, the description is "an unknown location". Thread-safe.
Description describe(Site site);

/// Returns the file name, without folders, of the program or library that contains the address.
/// Returns an empty string if no file contains it.
std::string module_of(const void* address);

/// Returns whether the address is in an inline function of rdma-core's headers that the compiler
/// has not inlined. In this case, only the callers of that function show where the program made the
/// call. Reads the symbols of the file, which takes milliseconds.
bool is_in_header(const void* return_address);

}  // namespace iwarp::rdma_core::careful
