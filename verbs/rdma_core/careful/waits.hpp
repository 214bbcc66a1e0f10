// SPDX-License-Identifier: Apache-2.0
// Wait: the descriptors that a thread of the program is about to wait for, and the hook through
// which libiwarp_careful.so.1, which replaces poll(2), select(2) and epoll_wait(2), reports it.
#pragma once

#include <poll.h>
#include <sys/select.h>

#include <atomic>
#include <span>

namespace iwarp::rdma_core::careful {

struct Wait {
  std::span<const pollfd> polled{};  ///< of poll(2)
  const fd_set* selected = nullptr;  ///< of select(2): the descriptors to read; may be null
  int selected_end = 0;              ///< the highest descriptor in `selected`, plus 1
  int epoll = -1;                    ///< of epoll_wait(2)
  const void* return_address = nullptr;
};

/// The library calls this function before each wait that may block, if the hook is not null. The
/// function may be called in a signal handler, and before main().
using WaitHook = std::atomic<void (*)(const Wait&)>;

/// The name of the function of libiwarp_careful.so.1 that returns its hook. The argument of the
/// function is sizeof(Wait). If the library is of another release, in which Wait has a different
/// size, the function returns null.
inline constexpr const char* kWaitHookSymbol = "iwarp_careful_wait_hook";
using WaitHookFunction = WaitHook*(std::size_t size);

/// Returns whether the descriptor `fd` is one of those that the thread waits for, also through
/// epoll instances that contain one another.
bool is_awaited(const Wait& wait, int fd);

}  // namespace iwarp::rdma_core::careful
