// SPDX-License-Identifier: Apache-2.0
// Frees a thread's spare buffers when the thread ends. A framer or deframer that is destroyed even
// later, while the thread or the process ends, frees its buffer at once.
#include "spare_buffers.hpp"

#include <new>

namespace iwarp::mpa {

constinit thread_local SpareBuffers spare_rings{};
constinit thread_local SpareBuffers spare_stages{};

namespace {

struct AtThreadEnd {
  ~AtThreadEnd() {
    for (SpareBuffers* const spares : {&spare_rings, &spare_stages}) {
      spares->is_over = true;
      spares->limit = 0;
      while (spares->count != 0) delete[] spares->spares[--spares->count].octets;
      delete[] spares->spares;
    }
  }
};

}  // namespace

bool begin_to_hold(SpareBuffers& spares) {
  if (spares.is_over || spares.limit != 0) return false;
  thread_local AtThreadEnd at_thread_end;
  constexpr std::uint8_t kLimit = 64;
  spares.spares = new (std::nothrow) SpareBuffers::Spare[kLimit];
  if (spares.spares == nullptr) return false;
  spares.limit = kLimit;
  return true;
}

}  // namespace iwarp::mpa
