// SPDX-License-Identifier: Apache-2.0
// Replacements of free(), realloc() and reallocarray(), which the program calls instead of the
// functions of its allocator. If a freed block contains a registered range, the replacements record
// this, and the Checker reports it later. The operator delete of the C++ library also calls the
// free() in this file. It does so with a tail call, so the return address of free() is in the
// program.
//
// The functions in this file do not allocate memory, print, or take a lock, because the thread that
// calls free() may hold any lock.
#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "careful/freed_memory.hpp"

namespace iwarp::rdma_core::careful {
namespace {

constinit FreedMemory memory;

/// The functions of the allocator itself. `free` is set last: if it is not null, the other members
/// have been set.
struct Allocator {
  std::atomic<void (*)(void*)> free;
  std::atomic<void* (*)(void*, std::size_t)> realloc;
  /// Null if the allocator has no malloc_usable_size() of its own.
  std::atomic<std::size_t (*)(void*)> usable_size;
};
constinit Allocator behind{};

/// Set while this thread is in dlsym(), because dlsym() may itself call the functions in this file.
/// With the TLS model "initial-exec", access to the variable never allocates memory.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_looking = false;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

template <typename One, typename Other>
bool are_of_one_library(One* one, Other* other) {
  Dl_info first{};
  Dl_info second{};
  return one != nullptr && other != nullptr &&
         ::dladdr(reinterpret_cast<const void*>(one), &first) != 0 &&
         ::dladdr(reinterpret_cast<const void*>(other), &second) != 0 &&
         first.dli_fbase == second.dli_fbase;
}

/// Looks up the functions of the allocator. This function may be called before any constructor of
/// this library has run. Returns false if this thread is already looking them up.
bool is_ready() {
  if (behind.free.load(std::memory_order_acquire) != nullptr) return true;
  if (is_looking) return false;
  is_looking = true;
  auto* const free_of = next<void(void*)>("free");
  auto* const size_of = next<std::size_t(void*)>("malloc_usable_size");
  behind.realloc.store(next<void*(void*, std::size_t)>("realloc"), std::memory_order_relaxed);
  // Uses malloc_usable_size() only if it belongs to the same allocator as free(). The
  // malloc_usable_size() of another allocator would read memory outside of the block.
  if (are_of_one_library(free_of, size_of)) {
    behind.usable_size.store(size_of, std::memory_order_relaxed);
  }
  behind.free.store(free_of, std::memory_order_release);
  is_looking = false;
  return true;
}

/// A snapshot of a WatchedRange.
struct Range {
  std::uint32_t index;
  std::uint32_t version;
  std::uint32_t key;
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// The registered ranges that one block contains, but at most kMost of them. Further ranges are not
/// recorded.
class Held {
 public:
  void add(const Range& range) {
    if (count_ < kMost) ranges_[count_++] = range;
  }
  std::span<const Range> all() const { return {ranges_, count_}; }

 private:
  static constexpr std::size_t kMost = 32;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): initialization would slow down free()
  Range ranges_[kMost];
  std::size_t count_ = 0;
};

/// Reads the range at `index`. Returns false if the entry is not in use, or if another thread is
/// changing it.
bool read(std::uint32_t index, Range& out) {
  const WatchedRange& range = memory.ranges[index];
  out.index = index;
  out.version = range.version.load(std::memory_order_acquire);
  out.begin = range.begin.load(std::memory_order_acquire);
  out.end = range.end.load(std::memory_order_acquire);
  out.key = range.key.load(std::memory_order_acquire);
  return out.version % 2 == 0 && out.begin != out.end &&
         range.version.load(std::memory_order_relaxed) == out.version;
}

// Finds the registered ranges that the block contains. Ignores a range that lies only partly in the
// block: a program may register whole pages, and free other blocks that are on these pages.
void find(void* block, Held& out) {
  const auto used = memory.used.load(std::memory_order_acquire);
  const auto size_of = behind.usable_size.load(std::memory_order_relaxed);
  if (used == 0 || block == nullptr || size_of == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  const auto end = begin + size_of(block);
  Range range;
  for (std::uint32_t i = 0; i < used; ++i) {
    if (read(i, range) && begin <= range.begin && range.end <= end) out.add(range);
  }
}

void note(const Range& range, Freed how, const void* site) {
  auto& reported = memory.ranges[range.index].reported_version;
  if (reported.exchange(range.version, std::memory_order_relaxed) == range.version) return;
  for (FreedRecord& record : memory.records) {
    auto empty = RecordState::kEmpty;
    if (!record.state.compare_exchange_strong(empty, RecordState::kWriting,
                                              std::memory_order_acquire)) {
      continue;
    }
    record.how = how;
    record.key = range.key;
    record.site = site;
    record.state.store(RecordState::kWritten, std::memory_order_release);
    memory.written.fetch_add(1, std::memory_order_release);
    return;
  }
  memory.is_lost.store(true, std::memory_order_relaxed);
}

void* resize(void* block, std::size_t size, const void* site) {
  if (!is_ready()) {
    errno = ENOMEM;
    return nullptr;
  }
  // Looks for ranges before it calls the allocator. After the allocator has freed the block,
  // another thread may already own it and may have registered it again.
  Held held;
  find(block, held);
  const auto before = reinterpret_cast<std::uintptr_t>(block);
  void* const out = behind.realloc.load(std::memory_order_relaxed)(block, size);
  const bool has_failed = out == nullptr && size != 0;
  if (has_failed) return out;
  const auto now = reinterpret_cast<std::uintptr_t>(out);
  for (const Range& range : held.all()) {
    if (now != before) {
      note(range, out == nullptr ? Freed::kWhole : Freed::kMoved, site);
    } else if (range.end > now + size) {
      note(range, Freed::kShrunk, site);
    }
  }
  return out;
}

}  // namespace
}  // namespace iwarp::rdma_core::careful

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::careful;

extern "C" {

FreedMemory* iwarp_careful_freed_memory(std::size_t size) {
  return size == sizeof memory ? &memory : nullptr;
}

void free(void* block) noexcept {
  if (!is_ready()) return;  // leaks the few bytes that dlsym() frees during its first call
  Held held;
  find(block, held);
  for (const Range& range : held.all()) note(range, Freed::kWhole, __builtin_return_address(0));
  behind.free.load(std::memory_order_relaxed)(block);
}

void* realloc(void* block, std::size_t size) noexcept {
  return resize(block, size, __builtin_return_address(0));
}

void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t octets = 0;
  if (__builtin_mul_overflow(count, size, &octets)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resize(block, octets, __builtin_return_address(0));
}

}  // extern "C"
