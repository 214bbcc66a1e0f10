// SPDX-License-Identifier: Apache-2.0
#include "process/handles.hpp"

#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <system_error>
#include <unordered_map>

namespace iwarp::rdma_core {
namespace {

struct Handles {
  std::mutex mutex;
  std::unordered_map<const void*, Handle> known;
  std::uint32_t last = 0;
};

// The atfork handlers ensure that the child finds the mutex unlocked. Never destroyed: programs
// destroy their objects while they exit.
Handles& handles() {
  static Handles* const kHandles = [] {
    static auto* made = new Handles;
    const auto release = [] { made->mutex.unlock(); };
    if (pthread_atfork([] { made->mutex.lock(); }, release, release) != 0) throw std::bad_alloc();
    return made;
  }();
  return *kHandles;
}

// Prepare handlers of pthread_atfork(3) run in reverse order of registration. This mutex is a leaf,
// so its handler is registered first, when the library is loaded, and takes it last.
[[maybe_unused]] const Handles& kAtLoad = handles();

}  // namespace

std::uint32_t add_handle(const void* object, const ibv_context* context) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  if (++all.last == 0) ++all.last;
  all.known[object] = {.number = all.last, .context = context};
  return all.last;
}

void remove_handle(const void* object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  all.known.erase(object);
}

Handle handle_of(const void* object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  const auto it = all.known.find(object);
  return it != all.known.end() ? it->second : Handle{};
}

void fail_unknown_handle() { throw std::system_error(ENOENT, std::generic_category()); }

}  // namespace iwarp::rdma_core
