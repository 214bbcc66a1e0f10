// SPDX-License-Identifier: Apache-2.0
// FreedWatch: the Checker's access to the memory that it shares with libiwarp_careful.so.1. The
// Checker writes into this memory which ranges are watched, and reads from it which ranges were
// freed. Nothing is watched if that library is not loaded, or if the program does not call the
// free() of that library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "careful/freed_memory.hpp"

namespace iwarp::rdma_core::careful {

/// Not thread-safe. However, other threads may use the shared memory at any time, through the
/// functions of libiwarp_careful.so.1.
class FreedWatch {
 public:
  /// Looks up libiwarp_careful.so.1. If the process has not loaded it, is_loaded() returns false.
  FreedWatch();
  bool is_loaded() const { return shared_ != nullptr; }
  /// Tests the library: frees a block of memory, and returns whether the library has recorded this.
  /// Call before any range is watched.
  bool works();

  /// Starts to watch the memory of a region. Returns false if too many ranges are already watched.
  bool watch(std::uint32_t key, std::span<const std::byte> memory);
  void forget(std::uint32_t key);
  /// Stops watching all ranges, even if another thread has not finished changing one. Call in the
  /// child of a fork, and when the process ends.
  void stop();

  /// For each new record, calls `use` with the key of the region, the way in which the region was
  /// freed, and the return address of the call that freed it. Removes the record.
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
  /// Returns whether a record was lost for lack of room since the previous call.
  bool take_lost() {
    return shared_ != nullptr && shared_->is_lost.load(std::memory_order_relaxed) &&
           shared_->is_lost.exchange(false);
  }

 private:
  FreedMemory* shared_;
};

}  // namespace iwarp::rdma_core::careful
