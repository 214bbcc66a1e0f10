// SPDX-License-Identifier: Apache-2.0
// StagTable: the regions and windows of an Rnic. Every access, local or remote, goes through
// acquire(), which checks validity, protection domain or queue pair, rights and bounds (RFC 5042
// section 6, verbs draft section 7), and pins the entry until the Grant is released.
//
// acquire() takes no lock. All other functions hold the table's mutex. A thread that holds this
// mutex takes no other lock except that of an entry's Waiters.
#pragma once

#include <atomic>
#include <cstdlib>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>

#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/region.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

using rdmap::AccessError;

/// An access to memory: the queue pair for which it is made, and the rights that it needs.
struct AccessRequest {
  PdId pd = 0;                  ///< protection domain of the accessing queue pair or SRQ
  QpNum qp = 0;                 ///< the accessing queue pair
  bool remote = false;          ///< whether the access is on behalf of the queue pair's peer
  Access need = Access::kNone;  ///< rights that the access needs; kNone for a local read
};

/// The table of STags. Thread-safe.
class StagTable {
 public:
  /// `capacity` is the maximum number of regions and windows at a time. `random` returns
  /// unpredictable values; it is called with the table's mutex held. Throws std::bad_alloc.
  /// [RDMAP-114] [SEC-10]
  StagTable(std::size_t capacity, std::function<std::uint32_t()> random);

  /// Checks an access in this order: validity, domain and queue pair, rights, wrap, bounds (to the
  /// byte). Sets `out` to the granted memory; on failure does not change `out`. `to` is a TO if the
  /// access is remote, otherwise an address as in Sge::address. `length` is at least 1. Fails with
  /// the AccessError of the first check that does not pass. Takes no lock. [VRB-32]
  std::expected<void, AccessError> acquire(const AccessRequest& who, Stag stag, std::uint64_t to,
                                           std::uint32_t length, Grant& out);
  /// Checks an access like the other overload, but returns the Grant.
  std::expected<Grant, AccessError> acquire(const AccessRequest& who, Stag stag, std::uint64_t to,
                                            std::uint32_t length) {
    Grant out;
    const auto judged = acquire(who, stag, to, length, out);
    if (!judged) return std::unexpected(judged.error());
    return out;
  }

  /// The memory to which a new STag refers, the streams that may use the STag, and their rights.
  /// [RDMAP-110] [RDMAP-111] [DDP-97]
  struct NewRegion {
    Region::Kind kind = Region::Kind::kRegion;
    PdId pd = 0;
    QpNum qp = 0;  ///< if not 0, only the peer of this queue pair may use the STag [SEC-7] [DDP-90]
    std::byte* address = nullptr;
    std::uint64_t length = 0;  ///< length in bytes
    Access access = Access::kNone;
    /// If set, this number replaces the virtual address of the first byte, both as the byte's TO
    /// and as its address in an Sge.
    std::optional<std::uint64_t> iova;
  };
  /// Adds an entry whose STag has an unpredictable index and key 0. A kRegion is valid at once. The
  /// table owns the entry until destroy(). Fails with `Errc::kInvalidArgument` if `length` bytes
  /// from `iova` on exceed 2^64, or `iova` is combined with Access::kZeroBased, and with
  /// `Errc::kLimitReached` if the table is full. [VRB-26] [VRB-27]
  std::expected<Region*, std::error_code> create(const NewRegion& what);
  /// Changes the rights and the domain of a region, which keeps its STag. Applies to accesses that
  /// are checked after the call; the caller has to end accesses in progress. Fails with
  /// `Errc::kBusy` while windows are bound to the region.
  std::error_code change(Region* region, PdId pd, Access access);
  /// Destroys the entry, and returns when its memory cannot be accessed any more. Until then, calls
  /// `break_pins` repeatedly, without the table's lock. Fails with `Errc::kBusy` while windows are
  /// bound to the region. [DDP-88] [DDP-89]
  std::error_code destroy(Region* region, const std::function<void(Region&)>& break_pins);

  // `waiter` is resumed after an entry has been unpinned; it may be null. The entry holds a
  // weak_ptr to it until then.
  /// Executes WrOpcode::kFastRegister for a queue pair of `pd`. Fails with `Errc::kInvalidArgument`
  /// if `what.stag` is not an invalid fast region of `pd`, or if the memory is empty. Fails with
  /// `Errc::kBusy` if the entry is pinned, even if the pin belongs to an access that will be
  /// refused because the entry is invalid. After kBusy, call again when `waiter` is resumed.
  std::error_code fast_register(PdId pd, const Registration& what, Waiter* waiter = nullptr);
  /// Executes WrOpcode::kBindWindow for queue pair `qp` of `pd`. Fails with `Errc::kNotBindable` if
  /// `what.window` is not a window, or is a valid window of type 2. Also fails with
  /// `Errc::kNotBindable` if the region is invalid, is zero-based, does not contain the memory, or
  /// lacks Access::kBindWindow. The same error is returned if the window has kRemoteWrite or
  /// kRemoteAtomic and the region lacks kLocalWrite. Fails with `Errc::kWrongPd` if the window or
  /// the region belongs to another domain, and with `Errc::kBusy` in the same case as
  /// fast_register(). [VRB-35] [VRB-36]
  std::error_code bind(PdId pd, QpNum qp, const WindowBind& what, Waiter* waiter = nullptr);

  /// Result of an invalidation.
  enum class Invalidated : std::uint8_t {
    kDone,     ///< the STag is invalid and not pinned
    kPinned,   ///< the STag is invalid, but accesses are in progress
    kRefused,  ///< this caller has no right to invalidate the STag; nothing has changed
  };
  /// Invalidates an STag on behalf of queue pair `qp` of `pd`, or of its peer (`remote`), which may
  /// invalidate only memory tied to `qp` or with Access::kRemoteInvalidate. After kPinned, call
  /// again with `remote` false when `waiter` is resumed. [RDMAP-58] [RDMAP-113] [VRB-34]
  Invalidated invalidate(PdId pd, QpNum qp, Stag stag, bool remote, Waiter* waiter = nullptr);

  /// If the entry of `stag` (whose key is ignored) is invalid, pins the entry, so that it can be
  /// neither made valid nor reused, and returns a Grant for its memory. Returns an empty Grant if
  /// the entry is valid, or while destroy() destroys it.
  Grant hold_invalid(Stag stag) const;

  /// Invalidates the windows bound through queue pair `qp`, which is being destroyed. [VRB-4]
  void invalidate_windows_of(QpNum qp);
  /// Returns the number of regions and windows that exist.
  std::size_t size() const;
  /// Returns the number of times that regions and windows were created, fast-registered or bound.
  std::uint64_t registrations() const { return registrations_.load(std::memory_order_relaxed); }

 private:
  Region* find(Stag stag) const;
  Region* find_index(std::uint32_t index) const;
  void insert(Region* region);
  void erase(const Region* region);
  void unbind(Region* window);
  static bool is_pinned(Region& region, Waiter* waiter);
  std::error_code unbind_type_1(PdId pd, Region& window, Waiter* waiter);

  const std::size_t capacity_;
  std::function<std::uint32_t()> random_;
  mutable std::mutex mutex_;
  struct Free {
    void operator()(Region** slots) const { std::free(static_cast<void*>(slots)); }
  };
  std::atomic_ref<Region*> slot(std::size_t i) const { return std::atomic_ref(slots_[i]); }

  const std::size_t mask_;                  ///< index & mask_ is the index's first slot
  std::unique_ptr<Region*[], Free> slots_;  ///< open addressing by STag index; use slot()
  std::atomic<std::size_t> longest_probe_{0};
  std::deque<std::unique_ptr<Region>> storage_;
  std::deque<Region*> free_;  ///< destroyed entries, oldest first; still in the table [SEC-11]
  std::size_t used_ = 0;
  std::atomic<std::uint64_t> registrations_{0};
};

}  // namespace iwarp::verbs
