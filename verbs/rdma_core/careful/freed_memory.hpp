// SPDX-License-Identifier: Apache-2.0
// What the Checker shares with libiwarp_careful.so.1, which replaces the allocator's functions: the
// ranges that are registered, and which of them were freed nevertheless. Of fixed size; readers and
// writers take no lock, allocate nothing and never block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core::careful {

enum class Freed : std::uint32_t { kWhole, kMoved, kShrunk };

/// Written by one thread at a time, read by every thread that frees. What was read is valid if
/// `version` is even and the same before and after.
struct WatchedRange {
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> told_version;  ///< version that has a record already
  std::atomic<std::uint32_t> key;
  std::atomic<std::uintptr_t> begin;
  std::atomic<std::uintptr_t> end;  ///< equal to begin: no range
};

enum class RecordState : std::uint32_t { kEmpty, kWriting, kWritten };

struct FreedRecord {
  std::atomic<RecordState> state;
  Freed how;
  std::uint32_t key;
  const void* site;  ///< return address of the call
};

struct FreedMemory {
  static constexpr std::size_t kRanges = 4096;
  static constexpr std::size_t kRecords = 256;

  std::atomic<std::uint32_t> used;     ///< ranges from this index on are empty
  std::atomic<std::uint32_t> written;  ///< number of records
  std::atomic<bool> is_lost;           ///< a record was lost for lack of room
  std::array<WatchedRange, kRanges> ranges{};
  std::array<FreedRecord, kRecords> records{};
};

/// The library's only function besides the allocator's. Takes sizeof(FreedMemory); returns null if
/// the library is of another release.
inline constexpr const char* kFreedMemorySymbol = "iwarp_careful_freed_memory";
using FreedMemoryFunction = FreedMemory*(std::size_t size);

}  // namespace iwarp::rdma_core::careful
