// SPDX-License-Identifier: Apache-2.0
// Access to memory that is not ours: a program may unmap, protect or truncate what it registered.
// The processor's fault is then an error of one message and must not end the process. Code that
// works on messages runs in guarded(); the few places that access such memory mark it; and after a
// fault there the driver's signal handler continues at the end of guarded(). See
// rfc-notes/decisions/0026.
#pragma once

#include <atomic>
#include <cstddef>

namespace iwarp::bytes {

/// Of this thread; for the signal handler.
struct Touching {
  void* back = nullptr;                ///< the end of the innermost guarded(); null: there is none
  bool now = false;                    ///< memory of the program is being touched
  const std::byte* address = nullptr;  ///< where the last fault was
};
// No call to find it: in a shared library too, and in a signal handler.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Touching touching;

/// Runs `work`. False: a fault while memory of the program was touched ended it, at
/// touching.address. No object with a destructor may live between here and there.
bool guarded(void (*work)(void*), void* context);
template <typename Work>
bool guarded(Work work) {
  return guarded([](void* context) { (*static_cast<Work*>(context))(); }, &work);
}

/// From here to end_touch() a fault is the program's.
inline void begin_touch() {
  touching.now = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void end_touch() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  touching.now = false;
}

/// For the signal handler: true where leave_touch() may be called.
inline bool is_touching() { return touching.now && touching.back != nullptr; }
/// Ends the innermost guarded().
[[noreturn]] void leave_touch(const void* address);

}  // namespace iwarp::bytes
