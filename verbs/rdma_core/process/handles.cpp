// SPDX-License-Identifier: Apache-2.0
// The table of valid objects, and its mutex, which a fork locks last.
#include "process/handles.hpp"

#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <unordered_map>

#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

struct Handles {
  std::mutex mutex;
  std::unordered_map<const void*, Handle> known;
  std::uint32_t last = 0;
};

// Returns the only table of the process. Handlers of pthread_atfork(3) lock its mutex during a
// fork, so that the child finds the mutex unlocked. The table is never destroyed, because some
// programs destroy their objects while the process exits. [IBV-75]
Handles& handles() {
  static Handles* const kHandles = [] {
    static auto* made = new Handles;
    const auto release = [] { made->mutex.unlock(); };
    if (pthread_atfork([] { made->mutex.lock(); }, release, release) != 0) throw std::bad_alloc();
    return made;
  }();
  return *kHandles;
}

// Registers the fork handlers when the library is loaded, before the fork handlers of all other
// mutexes. The handlers that run before a fork run in reverse order of their registration, so the
// mutex of Handles is locked last. This is necessary because it is the last mutex in the lock
// order.
[[maybe_unused]] const Handles& kAtLoad = handles();

}  // namespace

// [IBV-81]
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

void fail_unknown_handle() {
  fail(refused(ENOENT,
               "an object that the program passed is invalid (was it destroyed, copied, "
               "or created in another context?)"));
}

}  // namespace iwarp::rdma_core
