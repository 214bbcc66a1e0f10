// SPDX-License-Identifier: Apache-2.0
// Finds the place of a call, by unwinding the stack if needed, and stores each place once, for the
// whole life of the process.
#include "careful/site.hpp"

#include <unwind.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "process/call_site.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core::careful {
namespace {

constexpr std::size_t kMaxPlaces = 1 << 16;
constexpr unsigned kMaxOwnFrames = 64;

/// The result of the last call_site() in this thread. It stays valid while the thread is in the
/// same call of the C interface, so that the stack is unwound at most once per call.
struct LastLookup {
  unsigned long call = 0;
  Site site = nullptr;
};
thread_local LastLookup last;

/// All stored places. They are never destroyed, because threads may run after main() has returned.
struct Places {
  std::mutex mutex;
  std::set<CallStack> all;
  /// The places that consist only of one return address, without callers.
  std::map<const void*, Site> alone;
};
Places& places() {
  static auto& kPlaces = *new Places;
  return kPlaces;
}

/// Returns the stored copy of the place. If kMaxPlaces places are already stored, stores a new
/// place without its callers. Call with the mutex locked.
Site kept(Places& of, const CallStack& place) {
  if (of.all.size() < kMaxPlaces) return &*of.all.insert(place).first;
  if (const auto it = of.all.find(place); it != of.all.end()) return &*it;
  return &*of.all.insert({.frames = {place.frames[0]}}).first;
}

struct Walk {
  CallStack place;
  /// Number of valid addresses in `place`. It is 0 until the address in frames[0] has been found on
  /// the stack.
  std::size_t found = 0;
  unsigned own = 0;  ///< number of stack frames of this library that were skipped
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the unwinder returns addresses as integers
  const auto* const address = reinterpret_cast<const void*>(std::uintptr_t{_Unwind_GetIP(context)});
  if (address == nullptr) return _URC_END_OF_STACK;
  if (walk.found == 0) {
    if (address == walk.place.frames[0]) walk.found = 1;
    return ++walk.own < kMaxOwnFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
  }
  walk.place.frames[walk.found++] = address;
  return walk.found < CallStack::kFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

Site site_at(const void* address) {
  return or_no_memory([=] {
    Places& of = places();
    const std::lock_guard lock(of.mutex);
    return kept(of, {.frames = {address}});
  });
}

// Unwinds the stack only if the call came from a header function that was not inlined, because
// unwinding takes microseconds. In programs that were built with optimization, the header functions
// are inlined, so the stack is not unwound.
Site call_site() {
  const void* const return_address = CallSite::current();
  if (return_address == nullptr) return nullptr;
  if (last.site != nullptr && last.call == CallSite::calls()) return last.site;
  last = {.call = CallSite::calls(), .site = nullptr};
  last.site = or_no_memory([=] {
    Places& of = places();
    const std::lock_guard lock(of.mutex);
    auto [alone, is_new] = of.alone.try_emplace(return_address, nullptr);
    Walk walk{.place = {.frames = {return_address}}};
    if (is_new && !is_in_header(return_address)) alone->second = kept(of, walk.place);
    if (alone->second != nullptr) return alone->second;
    (void)_Unwind_Backtrace(step, &walk);
    return kept(of, walk.place);
  });
  return last.site;
}

}  // namespace iwarp::rdma_core::careful
