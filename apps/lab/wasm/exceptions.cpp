// SPDX-License-Identifier: Apache-2.0
// Inside a page no exception can be caught: whatever is thrown (out of memory, by the C++ library)
// ends the module, and the page says so.
#include <cstddef>
#include <cstdlib>

extern "C" {

void* __cxa_allocate_exception(std::size_t) noexcept { std::abort(); }
void __cxa_throw(void*, void*, void* (*)(void*)) { std::abort(); }
// The one thread of a page never ends.
int __cxa_thread_atexit(void (*)(void*), void*, void*) noexcept { return 0; }

}  // extern "C"
