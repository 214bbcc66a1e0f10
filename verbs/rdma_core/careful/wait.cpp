// SPDX-License-Identifier: Apache-2.0
// Replacements of poll(), select(), epoll_wait() and their variants. Before a call that may block,
// they tell the Checker which descriptors the thread is about to wait for. They allocate no memory
// and take no lock, because a signal handler may call them.
#include <sys/epoll.h>

#include <cstddef>
#include <ctime>

#include "careful/waits.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::careful {
namespace {

constinit WaitHook hook{nullptr};

/// Reports the wait, unless `limit` is null or 0: the call returns at once then.
void before(bool blocks, const Wait& wait) {
  auto* const function = hook.load(std::memory_order_acquire);
  if (function != nullptr && blocks) function(wait);
}

bool blocks(const timespec* limit) {
  return limit == nullptr || limit->tv_sec != 0 || limit->tv_nsec != 0;
}

std::span<const pollfd> span_of(const pollfd* fds, nfds_t count) {
  return {fds, static_cast<std::size_t>(count)};
}

}  // namespace
}  // namespace iwarp::rdma_core::careful

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::careful;
using iwarp::rdma_core::call_next;

#define IWARP_CALLER __builtin_return_address(0)

extern "C" {

WaitHook* iwarp_careful_wait_hook(std::size_t size) {
  return size == sizeof(Wait) ? &hook : nullptr;
}

int poll(pollfd* fds, nfds_t count, int timeout) {
  before(timeout != 0, {.polled = span_of(fds, count), .return_address = IWARP_CALLER});
  return call_next<"poll", int>(fds, count, timeout);
}

int ppoll(pollfd* fds, nfds_t count, const timespec* limit, const sigset_t* signals) {
  before(blocks(limit), {.polled = span_of(fds, count), .return_address = IWARP_CALLER});
  return call_next<"ppoll", int>(fds, count, limit, signals);
}

int select(int end, fd_set* readable, fd_set* writable, fd_set* special, timeval* limit) {
  before(limit == nullptr || limit->tv_sec != 0 || limit->tv_usec != 0,
         {.selected = readable, .selected_end = end, .return_address = IWARP_CALLER});
  return call_next<"select", int>(end, readable, writable, special, limit);
}

int pselect(int end, fd_set* readable, fd_set* writable, fd_set* special, const timespec* limit,
            const sigset_t* signals) {
  before(blocks(limit),
         {.selected = readable, .selected_end = end, .return_address = IWARP_CALLER});
  return call_next<"pselect", int>(end, readable, writable, special, limit, signals);
}

int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  before(timeout != 0, {.epoll = epoll, .return_address = IWARP_CALLER});
  return call_next<"epoll_wait", int>(epoll, events, most, timeout);
}

int epoll_pwait(int epoll, epoll_event* events, int most, int timeout, const sigset_t* signals) {
  before(timeout != 0, {.epoll = epoll, .return_address = IWARP_CALLER});
  return call_next<"epoll_pwait", int>(epoll, events, most, timeout, signals);
}

// A program that was compiled with _FORTIFY_SOURCE calls these functions instead.

int __poll_chk(pollfd* fds, nfds_t count, int timeout, std::size_t size) {
  before(timeout != 0, {.polled = span_of(fds, count), .return_address = IWARP_CALLER});
  if (size / sizeof(pollfd) < count) __builtin_trap();
  return call_next<"poll", int>(fds, count, timeout);
}

int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* limit, const sigset_t* signals,
                std::size_t size) {
  before(blocks(limit), {.polled = span_of(fds, count), .return_address = IWARP_CALLER});
  if (size / sizeof(pollfd) < count) __builtin_trap();
  return call_next<"ppoll", int>(fds, count, limit, signals);
}

}  // extern "C"
