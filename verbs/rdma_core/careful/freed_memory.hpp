// SPDX-License-Identifier: Apache-2.0
// FreedMemory: the memory that the Checker shares with libiwarp_careful.so.1, which replaces
// functions of the allocator. It contains the ranges of memory that are registered, and records of
// ranges that were freed although they were registered. The size of FreedMemory is fixed. Readers
// and writers take no lock, allocate no memory and never block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core::careful {

enum class Freed : std::uint32_t { kWhole, kMoved, kShrunk };

/// A range of registered memory. One thread at a time writes this struct, and every thread that
/// calls free() reads it. The fields that a thread has read are valid if `version` was even and did
/// not change while it read them.
struct WatchedRange {
  std::atomic<std::uint32_t> version;
  /// The value of `version` for which a record was already made.
  std::atomic<std::uint32_t> reported_version;
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

  /// Number of entries of `ranges` that have ever been in use; all entries after them are empty.
  std::atomic<std::uint32_t> used;
  std::atomic<std::uint32_t> written;  ///< number of records that the Checker has not read yet
  std::atomic<bool> is_lost;  ///< whether a record was lost because all records were in use
  std::array<WatchedRange, kRanges> ranges{};
  std::array<FreedRecord, kRecords> records{};
};

/// The name of the function of libiwarp_careful.so.1 that returns its FreedMemory. The argument of
/// the function is sizeof(FreedMemory). If the library is of another release, in which FreedMemory
/// has a different size, the function returns null.
inline constexpr const char* kFreedMemorySymbol = "iwarp_careful_freed_memory";
using FreedMemoryFunction = FreedMemory*(std::size_t size);

}  // namespace iwarp::rdma_core::careful
