// SPDX-License-Identifier: Apache-2.0
// A region or window as it stands in the STag table, and the right to touch some octets of it. Who
// gets that right is judged by the table, see memory.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/types.hpp"
#include "iwarp/verbs/waiters.hpp"

namespace iwarp::verbs {

using PdId = std::uint32_t;
using QpNum = std::uint32_t;

inline std::uint64_t virtual_address(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// One entry of the table. Its storage is never freed while the table lives. On cache lines of its
/// own, since whoever uses it counts its pins there.
struct alignas(64) Region {
  enum class Kind : std::uint8_t { kFree, kRegion, kFastRegion, kWindow };
  std::atomic<std::uint32_t> stag{0};  ///< index and key; of a freed entry: those that it had last
  std::atomic<bool> valid{false};
  std::atomic<std::uint32_t> pins{0};
  Kind kind = Kind::kFree;
  std::atomic<PdId> pd{0};  ///< like `access` changed while others look
  QpNum qp = 0;             ///< not 0: only this stream may use it remotely
  std::byte* address = nullptr;
  std::uint64_t length = 0;
  std::uint64_t to_base = 0;     ///< TO of the first octet
  std::uint64_t local_base = 0;  ///< what an Sge calls the first octet
  std::atomic<Access> access{Access::kNone};
  Region* parent = nullptr;         ///< of a bound window
  std::uint32_t bound_windows = 0;  ///< of a region
  bool dying = false;               ///< destroy() waits for the pins
  Waiters waiters;                  ///< for the pins to go

  void unpin() {
    if (pins.fetch_sub(1) == 1) waiters.tell();
  }
};

/// The right to touch some octets; they stay registered until this is gone. Movable.
class Grant {
 public:
  Grant() = default;
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

  void release() {
    if (region_ != nullptr) region_->unpin();
    region_ = nullptr;
  }
  /// The same pin, for these octets.
  Grant over(bytes::Span memory) && { return {std::exchange(region_, nullptr), memory}; }
  bytes::Span memory() const { return memory_; }
  Region* region() const { return region_; }
  /// This octet, whatever it is of, is one of them.
  bool has(const std::byte* octet) const {
    const std::less<const std::byte*> before;
    return !before(octet, memory_.data()) && before(octet, memory_.data() + memory_.size());
  }

 private:
  Region* region_ = nullptr;
  bytes::Span memory_;
};

}  // namespace iwarp::verbs
