// SPDX-License-Identifier: Apache-2.0
// Spare rings: a framer with nothing queued has no ring. The thread that emptied the ring keeps it
// for the next framer that it fills, so that the ring stays in the cache of one processor however
// many connections the thread serves in turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace iwarp::mpa {

using Ring = std::unique_ptr<std::byte[]>;

/// The spare rings of one thread. The type has no destructor, so that access to the thread-local
/// variable need not check whether it has been constructed.
struct SpareRings {
  struct Spare {
    std::byte* octets;
    std::size_t size;
  };
  std::array<Spare, 4> rings;
  std::uint8_t count;
  std::uint8_t limit;  ///< largest `count`; 0 before the first ring and once the thread ends
  bool is_over;
};
// The TLS model lets code of a shared library access the variable without a function call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local SpareRings spare_rings;

/// Sets the limit of this thread's spare rings at the first call. Returns false if the thread may
/// not hold another ring.
bool begin_to_hold();

/// Returns a ring of `size` octets: the ring that this thread gave back last, if it has that size,
/// otherwise a new ring. Throws std::bad_alloc.
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
