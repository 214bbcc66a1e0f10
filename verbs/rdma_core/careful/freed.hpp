// SPDX-License-Identifier: Apache-2.0
// FreedWatch: the Checker's access to the memory that it shares with libiwarp_careful.so.1. The
// Checker writes there which ranges are watched, and reads which of them were freed. Nothing is
// watched if that library is not loaded, or if the program calls a free() other than the library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "careful/freed_memory.hpp"

namespace iwarp::rdma_core::careful {

/// Not thread-safe, but the library may use the shared memory in other threads at any time.
class FreedWatch {
 public:
  /// Looks the library up. It may not be loaded.
  FreedWatch();
  bool is_loaded() const { return shared_ != nullptr; }
  /// Frees a block and returns whether the library has noticed this. Call before any range is
  /// watched.
  bool works();

  /// Starts to watch the memory of a region. Returns false if too many ranges are watched already.
  bool watch(std::uint32_t key, std::span<const std::byte> memory);
  void forget(std::uint32_t key);
  /// Stops watching all ranges, even if another thread was about to change one. Call in the child
  /// of a fork, and when the process ends.
  void stop();

  /// Calls `use` with the key, the Freed and the site of each new record, and removes the record.
  template <typename Use>
  void take(Use use) {
    if (shared_ == nullptr || shared_->written.load(std::memory_order_acquire) == 0) return;
    for (FreedRecord& record : shared_->records) {
      if (record.state.load(std::memory_order_acquire) != RecordState::kWritten) continue;
      const auto how = record.how;
      const auto key = record.key;
      const void* const site = record.site;
      record.state.store(RecordState::kEmpty, std::memory_order_release);
      shared_->written.fetch_sub(1, std::memory_order_relaxed);
      use(key, how, site);
    }
  }
  /// Returns whether a record was lost since the last call because there was no room for it.
  bool take_lost() {
    return shared_ != nullptr && shared_->is_lost.load(std::memory_order_relaxed) &&
           shared_->is_lost.exchange(false);
  }

 private:
  FreedMemory* shared_;
};

}  // namespace iwarp::rdma_core::careful
