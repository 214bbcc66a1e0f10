// SPDX-License-Identifier: Apache-2.0
// Access to memory that the application has registered. The application may unmap, protect or
// truncate this memory. The next access then raises SIGSEGV or SIGBUS, which must fail one message
// and must not end the process. Code that works on messages runs in guarded(). The few places that
// access such memory call begin_touch() before and end_touch() after the access. If a fault occurs
// in between, the driver's signal handler continues at the end of guarded(). See
// rfc-notes/decisions/0026.
#pragma once

#include <atomic>
#include <cstddef>

namespace iwarp::bytes {

/// The state of guarded() in one thread. The handler of SIGSEGV and SIGBUS reads it.
struct Touching {
  void* back = nullptr;                ///< jump target of the innermost guarded(), or null if none
  bool now = false;                    ///< the thread is between begin_touch() and end_touch()
  const std::byte* address = nullptr;  ///< address of the last memory fault
};
/// The state of the calling thread. The thread-local storage model lets code of a shared library
/// and signal handlers access the variable without a function call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Touching touching;

/// Runs `work(context)`. Returns false if a memory fault (SIGSEGV or SIGBUS) between begin_touch()
/// and end_touch() ended `work`; touching.address then has the address of the fault. The
/// destructors of objects in the abandoned stack frames do not run, so `work` must have no such
/// objects.
bool guarded(void (*work)(void*), void* context);
/// Runs `work()` and returns what the overload above returns. `work` is any callable.
template <typename Work>
bool guarded(Work work) {
  return guarded([](void* context) { (*static_cast<Work*>(context))(); }, &work);
}

/// Begins an access to memory of the application: a memory fault before end_touch() makes guarded()
/// return false.
inline void begin_touch() {
  touching.now = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
/// Ends an access that begin_touch() began.
inline void end_touch() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  touching.now = false;
}

/// For the signal handler: returns whether leave_touch() may be called.
inline bool is_touching() { return touching.now && touching.back != nullptr; }
/// For the signal handler: makes the innermost guarded() return false. `address` is the address of
/// the memory fault.
[[noreturn]] void leave_touch(const void* address);

}  // namespace iwarp::bytes
