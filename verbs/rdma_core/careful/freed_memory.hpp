// SPDX-License-Identifier: Apache-2.0
// What the Checker shares with libiwarp_careful.so.1, which stands in front of the allocator: the
// ranges that are registered, and which of them were freed in spite of it. Of fixed size; whoever
// reads or writes here takes no lock, allocates nothing and waits for nobody.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core::careful {

enum class Freed : std::uint32_t { kWhole, kMoved, kShrunk };

/// Written by one thread at a time, read by all that free: what was read counts when `version` was
/// the same before and behind, and even.
struct WatchedRange {
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> told_version;  ///< that there is a record of already
  std::atomic<std::uint32_t> key;
  std::atomic<std::uintptr_t> begin;
  std::atomic<std::uintptr_t> end;  ///< the same: there is none
};

enum class RecordState : std::uint32_t { kEmpty, kWriting, kWritten };

struct FreedRecord {
  std::atomic<RecordState> state;
  Freed how;
  std::uint32_t key;
  const void* site;  ///< where the call returns to
};

struct FreedMemory {
  static constexpr std::size_t kRanges = 4096;
  static constexpr std::size_t kRecords = 256;

  std::atomic<std::uint32_t> used;     ///< ranges from this on are empty
  std::atomic<std::uint32_t> written;  ///< records
  std::atomic<bool> is_lost;           ///< there was no room for a record
  std::array<WatchedRange, kRanges> ranges{};
  std::array<FreedRecord, kRecords> records{};
};

/// The library's one function besides the allocator's. It is told sizeof(FreedMemory): null, the
/// library is another release's.
inline constexpr const char* kFreedMemorySymbol = "iwarp_careful_freed_memory";
using FreedMemoryFunction = FreedMemory*(std::size_t size);

}  // namespace iwarp::rdma_core::careful
