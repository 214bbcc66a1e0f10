// SPDX-License-Identifier: Apache-2.0
// Frees a thread's spare rings when the thread ends. A framer that is destroyed even later,
// while the thread or the process ends, frees its ring at once.
#include "spare_rings.hpp"

namespace iwarp::mpa {

constinit thread_local SpareRings spare_rings{};

namespace {

struct AtThreadEnd {
  ~AtThreadEnd() {
    spare_rings.is_over = true;
    spare_rings.limit = 0;
    while (spare_rings.count != 0) delete[] spare_rings.rings[--spare_rings.count].octets;
  }
};

}  // namespace

bool begin_to_hold() {
  if (spare_rings.is_over || spare_rings.limit != 0) return false;
  thread_local AtThreadEnd at_thread_end;
  spare_rings.limit = static_cast<std::uint8_t>(spare_rings.rings.size());
  return true;
}

}  // namespace iwarp::mpa
