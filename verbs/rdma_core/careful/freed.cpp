// SPDX-License-Identifier: Apache-2.0
// FreedWatch: writes the table of watched ranges, with a version in each entry, so that the library
// that reads the table needs no lock.
#include "careful/freed.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

namespace iwarp::rdma_core::careful {
namespace {

constexpr std::uint32_t kNoVersion = 1;  // an odd version, which means that the range is not valid

FreedMemory* shared_memory() {
  auto* const function =
      reinterpret_cast<FreedMemoryFunction*>(::dlsym(RTLD_DEFAULT, kFreedMemorySymbol));
  return function != nullptr ? function(sizeof(FreedMemory)) : nullptr;
}

bool is_empty(const WatchedRange& range) {
  return range.begin.load(std::memory_order_relaxed) == range.end.load(std::memory_order_relaxed);
}

void write(WatchedRange& range, std::uint32_t key, std::uintptr_t begin, std::uintptr_t end) {
  // Makes the version odd before it stores the new values. So a reader that sees one of the new
  // values also sees an odd version or a later version, and ignores the range.
  const auto version = range.version.load(std::memory_order_relaxed) | 1;
  range.version.store(version, std::memory_order_relaxed);
  range.key.store(key, std::memory_order_release);
  range.begin.store(begin, std::memory_order_release);
  range.end.store(end, std::memory_order_release);
  range.version.store(version + 1, std::memory_order_release);
}

}  // namespace

FreedWatch::FreedWatch() : shared_(shared_memory()) {}

bool FreedWatch::works() {
  constexpr std::uint32_t kProbe = 0;
  constexpr std::size_t kOctets = 64;
  // `volatile` prevents the compiler from removing malloc() and free()
  void* volatile const block = std::malloc(kOctets);
  if (block == nullptr) return false;
  watch(kProbe, std::span(static_cast<const std::byte*>(block), kOctets));
  std::free(block);
  bool out = false;
  take([&out](std::uint32_t, Freed, const void*) { out = true; });
  forget(kProbe);
  return out;
}

bool FreedWatch::watch(std::uint32_t key, std::span<const std::byte> memory) {
  if (shared_ == nullptr || memory.empty()) return true;
  const auto range = std::ranges::find_if(shared_->ranges, is_empty);
  if (range == shared_->ranges.end()) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  write(*range, key, begin, begin + memory.size());
  const auto next = static_cast<std::uint32_t>(range - shared_->ranges.begin()) + 1;
  if (next > shared_->used.load()) shared_->used.store(next, std::memory_order_release);
  return true;
}

void FreedWatch::forget(std::uint32_t key) {
  if (shared_ == nullptr) return;
  auto used = shared_->used.load();
  for (WatchedRange& range : std::span(shared_->ranges).first(used)) {
    if (!is_empty(range) && range.key.load(std::memory_order_relaxed) == key) write(range, 0, 0, 0);
  }
  while (used != 0 && is_empty(shared_->ranges[used - 1])) --used;
  shared_->used.store(used, std::memory_order_release);
}

void FreedWatch::stop() {
  if (shared_ == nullptr) return;
  for (WatchedRange& range : shared_->ranges) {
    write(range, 0, 0, 0);
    range.reported_version.store(kNoVersion);
  }
  for (FreedRecord& record : shared_->records) record.state.store(RecordState::kEmpty);
  shared_->used.store(0);
  shared_->written.store(0);
  shared_->is_lost.store(false);
  shared_ = nullptr;
}

}  // namespace iwarp::rdma_core::careful
