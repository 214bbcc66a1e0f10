// SPDX-License-Identifier: Apache-2.0
// is_mapped() looks up the range in /proc/self/maps, which shows the access rights without an
// access to the memory. If /proc is not mounted, msync(2) at least reports whether all pages exist.
//
// catch_faults() installs the handlers for SIGSEGV and SIGBUS. A handler jumps out of the copy or
// checksum that caused the fault. Neither the copy nor the checksum holds a lock.
//
// This layer's handler replaces the application's handler and passes other faults on to that
// handler. The application may later replace this layer's handler, restore it, or call it from its
// own handler. So this layer installs a different function for each handler of the application that
// it replaces. Then no handler of this layer calls a handler that calls it back, or a handler that
// no longer exists.
#include "memory/application_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "iwarp/bytes/touch.hpp"

namespace iwarp::net {
namespace {

constexpr std::size_t kMost = 8;  // maximum number of the application's handlers to replace
constexpr std::array kSignals{SIGSEGV, SIGBUS};

/// The application's handler that one function of this layer has replaced. Written once, before
/// that function is installed.
struct Below {
  bool is_used = false;
  struct sigaction action;
};
std::array<std::array<Below, kMost>, kSignals.size()> below;
std::mutex mutex;  // held while `below` is written

bool is_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

// Calls the handler of `action` as the kernel would.
void call(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) std::signal(signal, SIG_DFL);
  sigset_t blocked = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

void hand_on(const struct sigaction& to, int signal, siginfo_t* info, void* context) {
  // a process sent the signal, so the signal reports no fault
  const bool was_sent = info->si_code <= 0;
  if (is_handler(to)) return call(to, signal, info, context);
  if (was_sent && to.sa_handler == SIG_IGN) return;
  // The faulting instruction runs again, and the fault then ends the process as if this handler did
  // not exist.
  std::signal(signal, SIG_DFL);
  if (was_sent) std::raise(signal);
}

template <std::size_t kIndex>
void on_fault(int signal, siginfo_t* info, void* context) {
  if (bytes::is_touching() && info->si_code > 0) bytes::leave_touch(info->si_addr);
  hand_on(below[signal == kSignals[0] ? 0 : 1][kIndex].action, signal, info, context);
}

using Handler = void (*)(int, siginfo_t*, void*);
constexpr auto kHandlers = []<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
  return std::array<Handler, kMost>{on_fault<kIndices>...};
}(std::make_index_sequence<kMost>());

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_flags == b.sa_flags && a.sa_handler == b.sa_handler;
}

bool is_own(const struct sigaction& action) {
  for (const Handler handler : kHandlers) {
    if ((action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handler) return true;
  }
  return false;
}

void go_on_top(int signal, std::array<Below, kMost>& all) {
  struct sigaction now{};
  if (::sigaction(signal, nullptr, &now) != 0 || is_own(now)) return;
  for (std::size_t i = 0; i < kMost; ++i) {
    if (all[i].is_used && !is_same(all[i].action, now)) continue;
    if (!all[i].is_used) all[i] = {.is_used = true, .action = now};
    struct sigaction action{};
    action.sa_sigaction = kHandlers[i];
    // The handler blocks no signal, because a jump out of the handler would not restore the signal
    // mask. It runs on the application's alternate signal stack, if there is one.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
    return;
  }
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool pages_exist(std::span<const std::byte> octets) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto into = reinterpret_cast<std::uintptr_t>(octets.data()) % page;
  // msync(2) requires a page-aligned address. With MS_ASYNC it changes nothing.
  auto* first = const_cast<std::byte*>(octets.data() - into);
  return ::msync(first, octets.size() + into, MS_ASYNC) == 0;
}

}  // namespace

void catch_faults() {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < kSignals.size(); ++i) go_on_top(kSignals[i], below[i]);
}

bool is_mapped(std::span<const std::byte> octets, bool writable) {
  const auto begin = reinterpret_cast<std::uintptr_t>(octets.data());
  const auto end = begin + octets.size();
  if (octets.empty() || end < begin) return false;
  const std::unique_ptr<std::FILE, Closer> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return pages_exist(octets);
  auto next = begin;  // the octets before this address are known to be accessible
  char* line = nullptr;
  std::size_t capacity = 0;
  while (next < end && ::getline(&line, &capacity, maps.get()) > 0) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char rights[5] = {};
    if (std::sscanf(line, "%zx-%zx %4s", &from, &to, rights) != 3) continue;
    if (to <= next) continue;
    if (from > next || rights[0] != 'r' || (writable && rights[1] != 'w')) break;
    next = to;  // Mappings are listed in ascending order.
  }
  std::free(line);
  return next >= end;
}

}  // namespace iwarp::net
