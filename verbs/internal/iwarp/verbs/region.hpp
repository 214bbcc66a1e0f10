// SPDX-License-Identifier: Apache-2.0
// Region: an entry of the STag table. Grant: the right to access a part of a region. Only StagTable
// makes Grants, see memory.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/types.hpp"
#include "iwarp/verbs/waiters.hpp"

namespace iwarp::verbs {

/// Returns the address as a number, in the form of a TO.
inline std::uint64_t virtual_address(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// A region or window: one entry of the STag table, which owns it. Its storage is not freed while
/// the table lives. It is aligned to a cache line, because every access writes `pins`. Atomic
/// members may change while other threads read them; the other members change only while the entry
/// is invalid and not pinned.
struct alignas(64) Region {
  /// The kinds of entries.
  enum class Kind : std::uint8_t {
    kFree,        ///< a destroyed entry, whose STag no longer works
    kRegion,      ///< a memory region, valid from registration on
    kFastRegion,  ///< a memory region that WrOpcode::kFastRegister makes valid
    kWindow,      ///< a memory window that WrOpcode::kBindWindow makes valid
  };
  /// index and key; a kFree entry keeps its last index and key
  std::atomic<std::uint32_t> stag{0};
  std::atomic<bool> valid{false};      ///< whether the STag may be used
  std::atomic<std::uint32_t> pins{0};  ///< number of accesses in progress
  Kind kind = Kind::kFree;
  std::atomic<PdId> pd{0};
  QpNum qp = 0;                  ///< if not 0, only the peer of this queue pair may use the STag
  std::byte* address = nullptr;  ///< address of the first byte
  std::uint64_t length = 0;      ///< length in bytes
  std::uint64_t to_base = 0;     ///< TO of the first byte
  std::uint64_t local_base = 0;  ///< value of Sge::address for the first byte
  std::atomic<Access> access{Access::kNone};  ///< rights of the region or window
  Region* parent = nullptr;                   ///< region to which a window is bound; otherwise null
  std::uint32_t bound_windows = 0;            ///< number of windows that are bound to a region
  bool dying = false;  ///< whether StagTable::destroy() waits until `pins` is 0
  Waiters waiters;     ///< streams that wait until `pins` is 0

  /// Releases one pin. If it was the last pin, resumes the waiting streams.
  void unpin() {
    if (pins.fetch_sub(1) == 1) waiters.tell();
  }
};

/// The right to access a part of a region. A Grant pins the region: the memory stays registered
/// until the Grant is released. Movable. A Grant is empty if it was default-constructed, moved from
/// or released. Not thread-safe.
class Grant {
 public:
  Grant() = default;
  /// Takes over one pin of `region`.
  Grant(Region* region, bytes::Span memory) : region_(region), memory_(memory) {}
  Grant(Grant&& o) noexcept : region_(std::exchange(o.region_, nullptr)), memory_(o.memory_) {}
  Grant& operator=(Grant&& o) noexcept {
    if (this != &o) {
      release();
      region_ = std::exchange(o.region_, nullptr);
      memory_ = o.memory_;
    }
    return *this;
  }
  ~Grant() { release(); }

  /// Releases the pin; idempotent.
  void release() {
    if (region_ != nullptr) region_->unpin();
    region_ = nullptr;
  }
  /// Returns the memory that may be accessed.
  bytes::Span memory() const { return memory_; }
  /// Returns the pinned region; null if the Grant is empty.
  Region* region() const { return region_; }
  /// Returns whether the byte at `octet`, which may be any address, lies in memory().
  bool has(const std::byte* octet) const {
    const std::less<const std::byte*> before;
    return !before(octet, memory_.data()) && before(octet, memory_.data() + memory_.size());
  }

 private:
  Region* region_ = nullptr;
  bytes::Span memory_;
};

}  // namespace iwarp::verbs
