// SPDX-License-Identifier: Apache-2.0
// guarded() sets the target of the jump that leave_touch() makes after a fault in memory of the
// application. The target does not include the signal mask, because the handler runs with the mask
// of the code that it interrupts.
#include "iwarp/bytes/touch.hpp"

#include <csetjmp>

namespace iwarp::bytes {

constinit thread_local Touching touching;

namespace {

// __builtin_setjmp saves only the registers that it must and takes a third of the instructions of
// the C library's setjmp. Sanitizers support only the function of the C library.
#if defined(__has_feature)
#define IWARP_SANITIZER(name) __has_feature(name)
#else
#define IWARP_SANITIZER(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    IWARP_SANITIZER(address_sanitizer) || IWARP_SANITIZER(thread_sanitizer)
#define IWARP_SET_PLACE(place) sigsetjmp((place).buffer, 0)
struct JumpBuffer {
  sigjmp_buf buffer;
};
[[noreturn]] void jump(JumpBuffer& place) { siglongjmp(place.buffer, 1); }
#else
#define IWARP_SET_PLACE(place) __builtin_setjmp((place).buffer)
struct JumpBuffer {
  void* buffer[5];
};
[[noreturn]] void jump(JumpBuffer& place) { __builtin_longjmp(place.buffer, 1); }
#endif

// An exception from `work` also ends guarded(), so restore the state from before guarded().
void run(void (*work)(void*), void* context, void* outer) {
  try {
    work(context);
  } catch (...) {
    touching.now = false;
    touching.back = outer;
    throw;
  }
}

}  // namespace

bool guarded(void (*work)(void*), void* context) {
  JumpBuffer here;
  void* const outer = touching.back;
  if (IWARP_SET_PLACE(here) != 0) {
    touching.now = false;
    touching.back = outer;
    return false;
  }
  touching.back = &here;
  run(work, context, outer);
  touching.back = outer;
  return true;
}

void leave_touch(const void* address) {
  touching.address = static_cast<const std::byte*>(address);
  jump(*static_cast<JumpBuffer*>(touching.back));
}

}  // namespace iwarp::bytes
