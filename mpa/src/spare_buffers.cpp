// SPDX-License-Identifier: Apache-2.0
// The buffers that the threads of the process share. A thread that ends leaves its buffers to the
// others. A framer or deframer that is destroyed even later does so, too.
#include "spare_buffers.hpp"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "iwarp/bytes/mutex.hpp"

namespace iwarp::mpa {

constinit thread_local SpareBuffers spare_rings{};
constinit thread_local SpareBuffers spare_stages{};

namespace {

// These variables have no destructors, because a thread may use them while the process ends.
constinit bytes::Mutex g_lock;
constinit std::array<SpareBuffer, 64> g_shared{};
constinit std::size_t g_count = 0;

void share(Buffer buffer, std::size_t size) {
  g_lock.lock();
  if (g_count != g_shared.size()) g_shared[g_count++] = {.octets = buffer.release(), .size = size};
  g_lock.unlock();
}

/// Returns the buffer of this size that was shared last; null if there is none.
Buffer shared(std::size_t size) {
  Buffer found;
  g_lock.lock();
  const auto all = std::span(g_shared).first(g_count);
  const auto last = std::ranges::find(all | std::views::reverse, size, &SpareBuffer::size);
  if (last != all.rend()) {
    found.reset(last->octets);
    std::ranges::move(last.base(), all.end(), last.base() - 1);
    --g_count;
  }
  g_lock.unlock();
  return found;
}

struct AtThreadEnd {
  ~AtThreadEnd() {
    for (SpareBuffers* const spares : {&spare_rings, &spare_stages}) {
      spares->is_over = true;
      spares->limit = 0;
      for (; spares->count != 0; --spares->count) {
        const auto& last = spares->spares[spares->count - 1U];
        share(Buffer(last.octets), last.size);
      }
    }
  }
};

}  // namespace

Buffer take_shared(std::size_t size) {
  auto found = shared(size);
  return found != nullptr ? std::move(found) : std::make_unique_for_overwrite<std::byte[]>(size);
}

void give_further(SpareBuffers& spares, Buffer buffer, std::size_t size) {
  if (spares.limit != 0 || spares.is_over) return share(std::move(buffer), size);
  thread_local AtThreadEnd at_thread_end;
  spares.limit = static_cast<std::uint8_t>(spares.spares.size());
  give(spares, std::move(buffer), size);
}

}  // namespace iwarp::mpa
