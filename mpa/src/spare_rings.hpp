// SPDX-License-Identifier: Apache-2.0
// Spare rings: a framer has a ring only while it has octets queued. When the ring runs empty, the
// thread keeps it for the next framer that needs a ring. So a thread that serves many connections
// in turn uses the same few rings, which stay in the cache of its processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iwarp::mpa {

using Ring = std::unique_ptr<std::byte[]>;

/// Ring buffers that one thread keeps for its next framers. The type has no destructor,
/// so that access to the thread-local variable need not check whether it has been constructed.
struct SpareRings {
  struct Spare {
    std::byte* octets;
    std::size_t size;
  };
  std::array<Spare, 4> rings;
  std::uint8_t count;
  /// Largest permitted `count`. The limit is 0 before the thread keeps its first ring, and again
  /// when the thread ends.
  std::uint8_t limit;
  bool is_over;
};
// The thread-local storage model lets code of a shared library access the variable without a
// function call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareRings spare_rings;

/// If this thread has no limit yet and is not ending, sets the limit and returns true. Otherwise
/// returns false: the thread must not keep another ring.
bool begin_to_hold();

/// Returns a ring of `size` octets: the spare ring that this thread kept last, if that ring has
/// this size, and otherwise a new ring. Throws std::bad_alloc.
inline Ring take_ring(std::size_t size) {
  SpareRings& spares = spare_rings;
  if (spares.count != 0 && spares.rings[spares.count - 1U].size == size) [[likely]]
    return Ring(spares.rings[--spares.count].octets);
  return std::make_unique_for_overwrite<std::byte[]>(size);
}

/// Keeps the ring for take_ring() on this thread. A thread keeps at most four rings, until it ends;
/// give_ring() frees any other ring.
inline void give_ring(Ring ring, std::size_t size) {
  SpareRings& spares = spare_rings;
  if (spares.count == spares.limit && !begin_to_hold()) [[unlikely]]
    return;
  spares.rings[spares.count++] = {.octets = ring.release(), .size = size};
}

}  // namespace iwarp::mpa
