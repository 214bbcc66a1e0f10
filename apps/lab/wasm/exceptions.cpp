// SPDX-License-Identifier: Apache-2.0
// The page's module cannot catch exceptions. If the C++ library throws one, for example because
// memory is exhausted, the module aborts and the page reports this.
#include <cstddef>
#include <cstdlib>

extern "C" {

void* __cxa_allocate_exception(std::size_t) noexcept { std::abort(); }
void __cxa_throw(void*, void*, void* (*)(void*)) { std::abort(); }
// Registers no destructor: the module's only thread never ends.
int __cxa_thread_atexit(void (*)(void*), void*, void*) noexcept { return 0; }

}  // extern "C"
