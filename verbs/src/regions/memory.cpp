// SPDX-License-Identifier: Apache-2.0
// StagTable: decides which stream may access which octets (RFC 5042 section 6, verbs draft sections
// 7.2 to 7.10).
//
// A reader first pins the entry and then checks whether the entry is valid. A writer first makes
// the entry invalid and then waits until it is no longer pinned. All these accesses are
// sequentially consistent, so either the reader sees that the entry is invalid, or the writer sees
// the pin.
#include "iwarp/verbs/memory.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <thread>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {
namespace {

// Maximum number of destroyed STags whose indexes stay reserved; beyond that number, the oldest
// index becomes free. create() does not assign a reserved index to a new STag.
constexpr std::size_t kRetired = 1024;

constexpr std::uint32_t index_of(std::uint32_t stag) { return stag >> 8; }
constexpr std::uint32_t make_stag(std::uint32_t index, std::uint8_t key) {
  return (index << 8) | key;
}

// Sets the TO and the local address of the first byte to their defaults. create() changes both if
// the caller passes an iova. [VRB-29] [IBV-195]
void number_octets(Region& region) {
  region.local_base = virtual_address(region.address);
  region.to_base = has(region.access, Access::kZeroBased) ? 0 : region.local_base;
}

bool numbers_fit(const StagTable::NewRegion& what) {
  if (!what.iova) return true;
  const auto last = *what.iova + what.length - 1;
  return !has(what.access, Access::kZeroBased) && (what.length == 0 || last >= *what.iova);
}

// Unpins a region and refuses the access because of `why`.
[[gnu::noinline]] std::expected<void, AccessError> let_go(Region& region, AccessError why) {
  region.unpin();
  return std::unexpected(why);
}

// Checks an access to a pinned, valid region, and sets `out`. `to` is a local address if the access
// is local, and a TO if the access is remote. [IBV-126, IBV-127, IBV-130, IBV-131, IBV-132,
// IBV-133, IBV-134, IBV-135, IBV-151, IBV-152, IBV-155, IBV-183, IBV-194]
inline std::expected<void, AccessError> judge(Region& r, const AccessRequest& who, std::uint64_t to,
                                              std::uint32_t length, Grant& out) {
  // A queue pair must not access memory of another PD, and a peer must not access memory that is
  // tied to another queue pair. Local accesses may use memory that is tied to another queue pair.
  // [SEC-8] [SEC-9] [DDP-93] [DDP-94] [RDMAP-107] [RDMAP-108]
  if (r.pd != who.pd) return let_go(r, AccessError::kOtherStream);
  if (who.remote && r.qp != 0 && r.qp != who.qp) return let_go(r, AccessError::kOtherStream);
  // Only the peer may use a window. [VRB-30]
  if (!who.remote && r.kind == Region::Kind::kWindow) return let_go(r, AccessError::kNoRight);
  if (!has(r.access, who.need)) return let_go(r, AccessError::kNoRight);  // [SEC-18]
  if (to + length - 1 < to) return let_go(r, AccessError::kWraps);
  const auto base = who.remote ? r.to_base : r.local_base;
  const auto offset = to - base;
  // Bounds are checked to the octet. [SEC-12] [DDP-95] [RDMAP-109]
  if (to < base || offset > r.length || length > r.length - offset) {
    return let_go(r, AccessError::kOutOfBounds);
  }
  // releases the former Grant of `out` at the end of the function
  const Grant before = std::move(out);
  out = Grant(&r, {r.address + offset, length});
  return {};
}

// Returns whether the window lies inside the region and is permitted by the region's rights: the
// peer may write through the window only if this end may write to the region. [IBV-193, IBV-203]
bool can_open(const Region& region, const WindowBind& what) {
  const bool writes =
      has(what.access, Access::kRemoteWrite) || has(what.access, Access::kRemoteAtomic);
  if (writes && !has(region.access, Access::kLocalWrite)) return false;
  const auto start = virtual_address(what.address);
  const auto offset = start - region.local_base;
  return what.length != 0 && start >= region.local_base && offset <= region.length &&
         what.length <= region.length - offset;
}

}  // namespace

StagTable::StagTable(std::size_t capacity, std::function<std::uint32_t()> random)
    : capacity_(capacity),
      random_(std::move(random)),
      mask_(std::bit_ceil(std::max(std::size_t{16}, capacity * 2)) - 1),
      slots_(static_cast<Region**>(std::calloc(mask_ + 1, sizeof(Region*)))) {
  // calloc() maps a table of this size as untouched zero pages. Only the pages in use then cost
  // time and memory. Zero octets are null pointers on this platform.
  if (slots_ == nullptr) throw std::bad_alloc();
}

std::expected<void, AccessError> StagTable::acquire(const AccessRequest& who, Stag stag,
                                                    std::uint64_t to, std::uint32_t length,
                                                    Grant& out) {
  Region* region = find(stag);
  if (region == nullptr) return std::unexpected(AccessError::kStagInvalid);
  region->pins.fetch_add(1);
  // Check the entry only after pinning it, because a pinned entry cannot change.
  if (!region->valid.load() || region->stag.load() != stag.value) {
    return let_go(*region, AccessError::kStagInvalid);
  }
  return judge(*region, who, to, length, out);
}

inline Region* StagTable::find(Stag stag) const {
  if (stag.value == 0) return nullptr;  // [VRB-27]
  return find_index(index_of(stag.value));
}

// Searches from the slot of `index` on. Every entry is at most longest_probe_ slots after the slot
// of its index. The table is never more than half full, so longest_probe_ stays at a few dozen
// slots even after long use.
inline Region* StagTable::find_index(std::uint32_t index) const {
  std::size_t i = index & mask_;
  std::size_t n = 0;
  do {
    Region* region = slot(i).load(std::memory_order_acquire);
    if (region != nullptr && index_of(region->stag.load(std::memory_order_relaxed)) == index) {
      return region;
    }
    i = (i + 1) & mask_;
  } while (n++ < longest_probe_.load(std::memory_order_acquire));
  return nullptr;
}

void StagTable::insert(Region* region) {
  std::size_t i = index_of(region->stag.load()) & mask_;
  std::size_t probe = 0;
  for (; slot(i).load(std::memory_order_relaxed) != nullptr; i = (i + 1) & mask_) ++probe;
  if (probe > longest_probe_.load()) longest_probe_.store(probe, std::memory_order_release);
  slot(i).store(region, std::memory_order_release);
}

void StagTable::erase(const Region* region) {
  std::size_t i = index_of(region->stag.load()) & mask_;
  while (slot(i).load(std::memory_order_relaxed) != region) i = (i + 1) & mask_;
  slot(i).store(nullptr, std::memory_order_release);
}

// [IBV-154, IBV-157]
std::expected<Region*, std::error_code> StagTable::create(const NewRegion& what) {
  if (!numbers_fit(what)) return std::unexpected(make_error_code(Errc::kInvalidArgument));
  const std::lock_guard lock(mutex_);
  if (used_ == capacity_) return std::unexpected(make_error_code(Errc::kLimitReached));
  Region* region = nullptr;
  const bool reuse =
      free_.size() > std::min(kRetired, capacity_ / 2) || storage_.size() == capacity_;
  if (!reuse) region = storage_.emplace_back(std::make_unique<Region>()).get();
  std::uint32_t index = 0;
  do {
    index = random_() & 0xFFFFFF;  // The index is any 24-bit value except 0. [RDMAP-115] [VRB-27]
  } while (index == 0 || find_index(index) != nullptr);
  if (reuse) {
    region = free_.front();
    free_.pop_front();
    erase(region);
  }
  region->kind = what.kind;
  region->pd = what.pd;
  region->qp = what.qp;
  region->address = what.address;
  region->length = what.length;
  region->access = what.access;
  number_octets(*region);
  if (what.iova) region->to_base = region->local_base = *what.iova;
  region->parent = nullptr;
  region->bound_windows = 0;
  region->dying = false;
  region->stag.store(make_stag(index, 0));
  region->valid.store(what.kind == Region::Kind::kRegion);
  insert(region);
  ++used_;
  registrations_.fetch_add(1, std::memory_order_relaxed);
  return region;
}

std::error_code StagTable::change(Region* region, PdId pd, Access access) {
  const std::lock_guard lock(mutex_);
  if (region->bound_windows != 0) return make_error_code(Errc::kBusy);
  region->pd.store(pd);
  region->access.store(access);
  return {};
}

std::error_code StagTable::destroy(Region* region, const std::function<void(Region&)>& break_pins) {
  {
    const std::lock_guard lock(mutex_);
    if (region->bound_windows != 0) return make_error_code(Errc::kBusy);
    region->dying = true;
    region->valid.store(false);  // This prevents new pins. [SEC-14] [DDP-98] [RDMAP-112]
  }
  while (region->pins.load(std::memory_order_acquire) != 0) {
    break_pins(*region);
    if (region->pins.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }
  const std::lock_guard lock(mutex_);
  free_.push_back(region);  // If this throws, the caller can try again.
  unbind(region);
  // Keep the entry in the table, so that its index is not assigned again soon. [SEC-11]
  region->kind = Region::Kind::kFree;
  --used_;
  return {};
}

void StagTable::unbind(Region* window) {
  if (window->parent != nullptr) --window->parent->bound_windows;
  window->parent = nullptr;
}

bool StagTable::is_pinned(Region& region, Waiter* waiter) {
  if (region.pins.load() == 0) return false;
  if (waiter != nullptr) region.waiters.add(waiter->weak_from_this());
  return region.pins.load() != 0;
}

std::error_code StagTable::fast_register(PdId pd, const Registration& what, Waiter* waiter) {
  const std::lock_guard lock(mutex_);
  Region* region = find(what.stag);
  if (region == nullptr || region->kind != Region::Kind::kFastRegion || region->pd != pd ||
      region->valid.load() || region->dying || what.address == nullptr || what.length == 0) {
    return make_error_code(Errc::kInvalidArgument);
  }
  if (is_pinned(*region, waiter)) return make_error_code(Errc::kBusy);
  region->address = what.address;
  region->length = what.length;
  region->access = what.access;
  number_octets(*region);
  region->stag.store(make_stag(index_of(what.stag.value), what.key));
  region->valid.store(true);
  registrations_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// [IBV-136, IBV-188, IBV-199, IBV-200, IBV-201, IBV-202, IBV-209]
std::error_code StagTable::bind(PdId pd, QpNum qp, const WindowBind& what, Waiter* waiter) {
  const std::lock_guard lock(mutex_);
  Region* window = find(what.window);
  Region* region = find(what.region);
  // [VRB-35]
  if (window == nullptr || window->kind != Region::Kind::kWindow || window->dying) {
    return make_error_code(Errc::kNotBindable);
  }
  if (what.type_1) {
    if (const auto error = unbind_type_1(pd, *window, waiter)) return error;
    if (what.length == 0) return {};
  }
  if (window->valid.load()) return make_error_code(Errc::kNotBindable);
  if (region == nullptr || region->kind == Region::Kind::kWindow || !region->valid.load() ||
      region->stag.load() != what.region.value || !has(region->access, Access::kBindWindow) ||
      has(region->access, Access::kZeroBased)) {
    return make_error_code(Errc::kNotBindable);
  }
  if (window->pd != pd || region->pd != pd) return make_error_code(Errc::kWrongPd);
  if (!can_open(*region, what)) return make_error_code(Errc::kNotBindable);
  if (is_pinned(*window, waiter)) return make_error_code(Errc::kBusy);
  unbind(window);
  window->parent = region;
  ++region->bound_windows;
  window->qp = what.type_1 ? 0 : qp;  // A window of type 2 is tied to this stream. [DDP-87]
  const auto offset = virtual_address(what.address) - region->local_base;
  window->address = region->address + offset;
  window->length = what.length;
  window->access = what.access;
  // The octets of the window have the same TOs as in the region, unless the window is zero-based.
  number_octets(*window);
  if (!has(what.access, Access::kZeroBased)) {
    window->to_base = region->to_base + offset;
  }
  window->stag.store(make_stag(index_of(what.window.value), what.key));  // [VRB-36]
  window->valid.store(true);
  registrations_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// [IBV-184, IBV-204]
std::error_code StagTable::unbind_type_1(PdId pd, Region& window, Waiter* waiter) {
  if (window.pd != pd) return make_error_code(Errc::kWrongPd);
  window.valid.store(false);
  if (is_pinned(window, waiter)) return make_error_code(Errc::kBusy);
  unbind(&window);
  return {};
}

// [IBV-185, IBV-186, IBV-205]
StagTable::Invalidated StagTable::invalidate(PdId pd, QpNum qp, Stag stag, bool remote,
                                             Waiter* waiter) {
  const std::lock_guard lock(mutex_);
  Region* region = find(stag);
  if (region == nullptr || region->kind == Region::Kind::kFree ||
      region->stag.load() != stag.value || region->pd != pd) {
    return Invalidated::kRefused;
  }
  if (region->bound_windows != 0) return Invalidated::kRefused;  // [VRB-34]
  const bool valid = region->valid.load();
  if (valid && region->qp != 0 && region->qp != qp) return Invalidated::kRefused;
  if (remote) {
    if (!valid) return Invalidated::kRefused;
    // The peer may invalidate an STag only if it is tied to the peer's stream, or if it has
    // kRemoteInvalidate. [RDMAP-113] [SEC-28]
    if (region->qp == 0 && !has(region->access, Access::kRemoteInvalidate)) {
      return Invalidated::kRefused;
    }
  }
  region->valid.store(false);
  if (is_pinned(*region, waiter)) return Invalidated::kPinned;
  unbind(region);
  return Invalidated::kDone;
}

Grant StagTable::hold_invalid(Stag stag) const {
  const std::lock_guard lock(mutex_);
  Region* const region = find(stag);
  if (region == nullptr || region->valid.load() || region->dying) return {};
  region->pins.fetch_add(1);
  return {region, {region->address, static_cast<std::size_t>(region->length)}};
}

void StagTable::invalidate_windows_of(QpNum qp) {
  const std::lock_guard lock(mutex_);
  for (const auto& region : storage_) {
    if (region->kind == Region::Kind::kWindow && region->qp == qp && region->valid.load()) {
      region->valid.store(false);
      unbind(region.get());
    }
  }
}

std::size_t StagTable::size() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace iwarp::verbs
