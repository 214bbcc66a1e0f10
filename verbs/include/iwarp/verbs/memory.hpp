// SPDX-License-Identifier: Apache-2.0
// Registered memory: protection domains, regions, windows, and the one table of STags of an Rnic.
// Every access, local or remote, goes through StagTable::acquire(): valid, PD or QP, rights, bounds
// (RFC 5042 section 6, verbs draft section 7). What acquire() gave is pinned until the Grant ends.
//
// Readers take no lock. Writers (register, invalidate, bind ...) hold the table's mutex, which is a
// leaf but for the Waiters of an entry.
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

#include "iwarp/rdmap/ulp.hpp"
#include "iwarp/verbs/errors.hpp"
#include "iwarp/verbs/region.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

using rdmap::AccessError;

/// Who wants to do what.
struct AccessRequest {
  PdId pd = 0;
  QpNum qp = 0;
  bool remote = false;
  Access need = Access::kNone;
};

class StagTable {
 public:
  /// `random` gives unpredictable values. [RDMAP-114] [SEC-10]
  StagTable(std::size_t capacity, std::function<std::uint32_t()> random);

  /// Checks in the order valid, PD or QP, rights, wrap, bounds; octet granular. `to` is a TO for
  /// remote requests; for local ones it is the virtual address, or counts from the region's `iova`.
  /// length > 0. `out` is as it was where the answer is no. [VRB-32]
  std::expected<void, AccessError> acquire(const AccessRequest& who, Stag stag, std::uint64_t to,
                                           std::uint32_t length, Grant& out);
  std::expected<Grant, AccessError> acquire(const AccessRequest& who, Stag stag, std::uint64_t to,
                                            std::uint32_t length) {
    Grant out;
    const auto judged = acquire(who, stag, to, length, out);
    if (!judged) return std::unexpected(judged.error());
    return out;
  }

  /// What an STag stands for, for whom, and with which rights. [RDMAP-110] [RDMAP-111] [DDP-97]
  struct NewRegion {
    Region::Kind kind = Region::Kind::kRegion;
    PdId pd = 0;
    QpNum qp = 0;  ///< not 0: for the peer of this stream alone [SEC-7] [DDP-90]
    std::byte* address = nullptr;
    std::uint64_t length = 0;
    Access access = Access::kNone;
    /// The first octet's TO, and its address in an Sge, in place of the virtual address.
    std::optional<std::uint64_t> iova;
  };
  /// A fresh unpredictable index, key 0 for windows and fast regions. [VRB-26] [VRB-27]
  /// Errc::kInvalidArgument: from `iova` on there is not room for `length` octets below 2^64, or
  /// the region shall be zero based as well.
  std::expected<Region*, std::error_code> create(const NewRegion& what);
  /// Gives a region other rights, or to another domain, under the STag that it has. A request that
  /// is judged from then on is judged by these; an access that began before is up to the caller.
  /// Errc::kBusy while windows are bound to it.
  std::error_code change(Region* region, PdId pd, Access access);
  /// Ends the STag. [DDP-88] [DDP-89]
  /// Errc::kBusy while windows are bound to it. Returns when nobody can touch the memory any more:
  /// `break_pins` is called (without the table's lock) while pins are left.
  std::error_code destroy(Region* region, const std::function<void(Region&)>& break_pins);

  /// Whose stream is to be resumed when others have released an entry; nullptr: none. Its ownership
  /// is shared while it waits.
  using Waiter = QpDriver*;
  /// For kFastRegister and kBindWindow. Errc::kBusy: others still have the entry pinned, if only to
  /// find it invalid; `waiter` is told when to try again. [VRB-35] [VRB-36]
  std::error_code fast_register(PdId pd, const Registration& what, Waiter waiter = nullptr);
  std::error_code bind(PdId pd, QpNum qp, const WindowBind& what, Waiter waiter = nullptr);

  enum class Invalidated : std::uint8_t { kDone, kPinned, kRefused };
  /// By STag, for a stream of `pd`/`qp`. kPinned: it is invalid from now on but somebody still
  /// uses a part; `waiter` is told when to call again, as a local one. Remote: a shared STag is
  /// refused. [RDMAP-58] [RDMAP-113] [VRB-34]
  Invalidated invalidate(PdId pd, QpNum qp, Stag stag, bool remote, Waiter waiter = nullptr);

  /// Pins the entry of an STag, whatever its key, if it is invalid: it stays so meanwhile, and as
  /// it is. Else, and while destroy() ends it, a Grant of nothing.
  Grant hold_invalid(Stag stag) const;

  /// Windows bound to this QP become invalid with it. [VRB-4]
  void invalidate_windows_of(QpNum qp);
  std::size_t size() const;
  std::uint64_t registrations() const { return registrations_.load(std::memory_order_relaxed); }

 private:
  Region* find(Stag stag) const;
  Region* find_index(std::uint32_t index) const;
  void insert(Region* region);
  void erase(const Region* region);
  void unbind(Region* window);
  static bool is_pinned(Region& region, Waiter waiter);
  std::error_code unbind_type_1(PdId pd, Region& window, Waiter waiter);

  const std::size_t capacity_;
  std::function<std::uint32_t()> random_;
  mutable std::mutex mutex_;
  struct Free {
    void operator()(Region** slots) const { std::free(static_cast<void*>(slots)); }
  };
  std::atomic_ref<Region*> slot(std::size_t i) const { return std::atomic_ref(slots_[i]); }

  const std::size_t mask_;                  ///< of an index, to its slot
  std::unique_ptr<Region*[], Free> slots_;  ///< open addressing by STag index; use slot()
  std::atomic<std::size_t> longest_probe_{0};
  std::deque<std::unique_ptr<Region>> storage_;
  std::deque<Region*> free_;  ///< oldest first; dead, but still in the table [SEC-11]
  std::size_t used_ = 0;
  std::atomic<std::uint64_t> registrations_{0};
};

}  // namespace iwarp::verbs
