// SPDX-License-Identifier: Apache-2.0
// Copies into memory that the application may be polling. Programs poll the last octet of a buffer
// to detect that an RDMA Write has arrived, so the last octet must not become visible before the
// other octets.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "iwarp/bytes/view.hpp"

namespace iwarp::bytes {

/// Copies `from` to the start of `to`, which is at least as large and does not overlap `from`.
/// Other threads see the last octet only after all other octets. For this, the naturally aligned
/// word of up to 8 octets that ends the range is written last, in one store.
inline void place_copy(Span to, View from) {
  if (from.empty()) return;
  const std::size_t n = from.size();
  const auto end = reinterpret_cast<std::uintptr_t>(to.data()) + n;
  const std::size_t word = n >= 8 && end % 8 == 0 ? 8 : n >= 4 && end % 4 == 0 ? 4 : 1;
  std::memcpy(to.data(), from.data(), n - word);
  std::atomic_thread_fence(std::memory_order_release);
  std::byte* last = to.data() + n - word;
  const std::byte* source = from.data() + n - word;
  // The sizes are constants, so that the compiler makes each memcpy a single store.
  if (word == 8) {
    std::memcpy(last, source, 8);
  } else if (word == 4) {
    std::memcpy(last, source, 4);
  } else {
    *last = *source;
  }
}

}  // namespace iwarp::bytes
