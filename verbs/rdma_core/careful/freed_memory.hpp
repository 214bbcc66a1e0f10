// SPDX-License-Identifier: Apache-2.0
// FreedMemory: the memory that the Checker shares with libiwarp_careful.so.1, which replaces the
// allocator's functions. It contains the registered ranges, and records of those that were freed
// nevertheless. Its size is fixed. Readers and writers take no lock, allocate nothing and never
// block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core::careful {

enum class Freed : std::uint32_t { kWhole, kMoved, kShrunk };

/// One thread at a time writes it, and every thread that calls free() reads it. The fields that a
/// thread has read are valid if `version` was even and did not change meanwhile.
struct WatchedRange {
  std::atomic<std::uint32_t> version;
  /// Version of the range for which a record exists already.
  std::atomic<std::uint32_t> told_version;
  std::atomic<std::uint32_t> key;
  std::atomic<std::uintptr_t> begin;
  std::atomic<std::uintptr_t> end;  ///< equal to `begin` if this entry is not in use
};

enum class RecordState : std::uint32_t { kEmpty, kWriting, kWritten };

struct FreedRecord {
  std::atomic<RecordState> state;
  Freed how;
  std::uint32_t key;
  const void* site;  ///< return address of the call that freed the memory
};

struct FreedMemory {
  static constexpr std::size_t kRanges = 4096;
  static constexpr std::size_t kRecords = 256;

  std::atomic<std::uint32_t> used;     ///< ranges from this index on are empty
  std::atomic<std::uint32_t> written;  ///< number of records that the Checker has not read yet
  std::atomic<bool> is_lost;           ///< a record was lost because all records were in use
  std::array<WatchedRange, kRanges> ranges{};
  std::array<FreedRecord, kRecords> records{};
};

/// The library's only function besides those that replace the allocator's. It returns the
/// FreedMemory. The argument is sizeof(FreedMemory). If this differs from the size in the library,
/// which is then of another release, the function returns null.
inline constexpr const char* kFreedMemorySymbol = "iwarp_careful_freed_memory";
using FreedMemoryFunction = FreedMemory*(std::size_t size);

}  // namespace iwarp::rdma_core::careful
