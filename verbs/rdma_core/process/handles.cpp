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

// Returns the table of the process. The handlers of pthread_atfork(3) ensure that the child of a
// fork finds the mutex unlocked. The table is never destroyed, because programs destroy their
// objects while they exit.
Handles& handles() {
  static Handles* const kHandles = [] {
    static auto* made = new Handles;
    const auto release = [] { made->mutex.unlock(); };
    if (pthread_atfork([] { made->mutex.lock(); }, release, release) != 0) throw std::bad_alloc();
    return made;
  }();
  return *kHandles;
}

// Registers the handlers when the library is loaded, before those of all other mutexes. The
// handlers that run before a fork run in reverse order of registration, so the mutex of Handles is
// locked last. That must be so because it is a leaf of the lock order.
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
