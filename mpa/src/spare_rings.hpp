// SPDX-License-Identifier: Apache-2.0
// Rings of framers that have nothing queued. A thread keeps each ring that it has emptied for the
// next framer that it fills: the ring stays in the cache of one processor however many connections
// take turns, and an idle connection has no ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iwarp::mpa {

using Ring = std::unique_ptr<std::byte[]>;

/// The rings of one thread. Without a destructor, so that an access need not check for
/// construction.
struct SpareRings {
  struct Spare {
    std::byte* octets;
    std::size_t size;
  };
  std::array<Spare, 4> rings;
  std::uint8_t count;
  std::uint8_t limit;  ///< 0 before the first ring, and once the thread ends
  bool is_over;
};
// Found without a function call, in a shared library too.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareRings spare_rings;

/// Lets this thread hold rings, once. Returns false if it may not hold any more.
bool begin_to_hold();

/// Returns a ring of `size` octets: the last one that this thread gave back, if it has that size,
/// otherwise a new one. Throws std::bad_alloc.
inline Ring take_ring(std::size_t size) {
  SpareRings& spares = spare_rings;
  if (spares.count != 0 && spares.rings[spares.count - 1U].size == size) [[likely]]
    return Ring(spares.rings[--spares.count].octets);
  return std::make_unique_for_overwrite<std::byte[]>(size);
}

/// Keeps the ring for take_ring() on this thread, up to four rings until the thread ends. Frees any
/// ring beyond that.
inline void give_ring(Ring ring, std::size_t size) {
  SpareRings& spares = spare_rings;
  if (spares.count == spares.limit && !begin_to_hold()) [[unlikely]]
    return;
  spares.rings[spares.count++] = {.octets = ring.release(), .size = size};
}

}  // namespace iwarp::mpa
