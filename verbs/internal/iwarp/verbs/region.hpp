// SPDX-License-Identifier: Apache-2.0
// Region: an entry of the STag table. Grant: the right to access a part of one. The table decides
// about Grants, see memory.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/types.hpp"
#include "iwarp/verbs/waiters.hpp"

namespace iwarp::verbs {

/// Returns the address as the number that Sges and TOs carry.
inline std::uint64_t virtual_address(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// A region or window: one entry of the STag table, which owns it. Its storage is not freed while
/// the table lives. Aligned to cache lines of its own, because every access counts a pin. Atomic
/// members may change while other threads read them; the others change only while the entry is
/// invalid and not pinned.
struct alignas(64) Region {
  /// What the entry is.
  enum class Kind : std::uint8_t {
    kFree,        ///< neither: its STag is dead
    kRegion,      ///< a memory region, valid from its registration on
    kFastRegion,  ///< a memory region that WrOpcode::kFastRegister makes valid
    kWindow,      ///< a memory window that WrOpcode::kBindWindow makes valid
  };
  std::atomic<std::uint32_t> stag{0};  ///< index and key; of a freed entry: the last ones
  std::atomic<bool> valid{false};      ///< may be accessed
  std::atomic<std::uint32_t> pins{0};  ///< accesses in progress
  Kind kind = Kind::kFree;
  std::atomic<PdId> pd{0};
  QpNum qp = 0;                               ///< not 0: only this stream may use it remotely
  std::byte* address = nullptr;               ///< of its first byte
  std::uint64_t length = 0;                   ///< bytes
  std::uint64_t to_base = 0;                  ///< TO of its first byte
  std::uint64_t local_base = 0;               ///< address of its first byte in an Sge
  std::atomic<Access> access{Access::kNone};  ///< its rights
  Region* parent = nullptr;                   ///< bound window: its region
  std::uint32_t bound_windows = 0;            ///< region: windows bound to it
  bool dying = false;                         ///< StagTable::destroy() waits for the pins
  Waiters waiters;                            ///< streams that wait for the pins to go

  /// Releases one pin; resumes the waiting streams after the last one.
  void unpin() {
    if (pins.fetch_sub(1) == 1) waiters.tell();
  }
};

/// The right to access a part of a region. Pins the region: the memory stays registered until the
/// Grant is released. Movable; empty when default-constructed, moved from or released. Not
/// thread-safe.
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
  /// Moves the pin to a Grant for `memory`, a part of the same region.
  Grant over(bytes::Span memory) && { return {std::exchange(region_, nullptr), memory}; }
  /// Returns the memory that may be accessed.
  bytes::Span memory() const { return memory_; }
  /// Returns the pinned region; null if the Grant is empty.
  Region* region() const { return region_; }
  /// Returns whether the byte at this address, which may be any address, lies in memory().
  bool has(const std::byte* octet) const {
    const std::less<const std::byte*> before;
    return !before(octet, memory_.data()) && before(octet, memory_.data() + memory_.size());
  }

 private:
  Region* region_ = nullptr;
  bytes::Span memory_;
};

}  // namespace iwarp::verbs
