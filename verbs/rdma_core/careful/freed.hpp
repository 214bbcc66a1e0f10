// SPDX-License-Identifier: Apache-2.0
// The Checker's half of what it shares with libiwarp_careful.so.1: which memory is watched, and
// what was freed of it. Without that library, and where the program's free() is not the library's,
// nothing is watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "careful/freed_memory.hpp"

namespace iwarp::rdma_core::careful {

/// One thread at a time, but for what the library does.
class FreedWatch {
 public:
  /// Looks whether the library is loaded.
  FreedWatch();
  bool is_loaded() const { return shared_ != nullptr; }
  /// Frees a block to see whether the library notices; before anything is watched.
  bool works();

  /// False: there is no room.
  bool watch(std::uint32_t key, std::span<const std::byte> memory);
  void forget(std::uint32_t key);
  /// Of nothing any more, without regard to what other threads did to it: for the child of a fork,
  /// and at the end.
  void stop();

  /// Hands each record to `use`, once: key, Freed, site.
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
  /// Once: that there was no room for a record.
  bool take_lost() {
    return shared_ != nullptr && shared_->is_lost.load(std::memory_order_relaxed) &&
           shared_->is_lost.exchange(false);
  }

 private:
  FreedMemory* shared_;
};

}  // namespace iwarp::rdma_core::careful
