// SPDX-License-Identifier: Apache-2.0
// The Checker's half of what it shares with libiwarp_careful.so.1: which memory is watched, and
// what of it was freed. Without that library, or if the program's free() is not the library's,
// nothing is watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "careful/freed_memory.hpp"

namespace iwarp::rdma_core::careful {

/// Not thread-safe, except for what the library does.
class FreedWatch {
 public:
  /// Looks up whether the library is loaded.
  FreedWatch();
  bool is_loaded() const { return shared_ != nullptr; }
  /// Frees a block to test whether the library notices. Call before anything is watched.
  bool works();

  /// Returns false if there is no room.
  bool watch(std::uint32_t key, std::span<const std::byte> memory);
  void forget(std::uint32_t key);
  /// Stops watching everything, without regard to what other threads were doing: for the child of a
  /// fork, and at the end.
  void stop();

  /// Passes each record once to `use`: key, Freed, site.
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
  /// Returns, once, whether a record was lost for lack of room.
  bool take_lost() {
    return shared_ != nullptr && shared_->is_lost.load(std::memory_order_relaxed) &&
           shared_->is_lost.exchange(false);
  }

 private:
  FreedMemory* shared_;
};

}  // namespace iwarp::rdma_core::careful
