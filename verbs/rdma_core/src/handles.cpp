// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

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
  std::unordered_map<const void*, std::uint32_t> numbers;
  std::uint32_t last = 0;
};

// A fork finds the lock free. Never destroyed: programs end their objects while they exit.
Handles& handles() {
  static Handles* const kHandles = [] {
    static auto* made = new Handles;
    const auto release = [] { made->mutex.unlock(); };
    if (pthread_atfork([] { made->mutex.lock(); }, release, release) != 0) throw std::bad_alloc();
    return made;
  }();
  return *kHandles;
}

// What prepares for a fork runs backwards: the first to be registered takes its lock last, as a
// leaf has to be.
[[maybe_unused]] const Handles& kAtLoad = handles();

}  // namespace

std::uint32_t add_handle(const void* object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  if (++all.last == 0) ++all.last;
  all.numbers[object] = all.last;
  return all.last;
}

void remove_handle(const void* object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  all.numbers.erase(object);
}

std::uint32_t number_of(const void* object) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  const auto it = all.numbers.find(object);
  return it != all.numbers.end() ? it->second : 0;
}

void fail_unknown_handle() { throw std::system_error(ENOENT, std::generic_category()); }

}  // namespace iwarp::rdma_core
