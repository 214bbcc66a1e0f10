// SPDX-License-Identifier: Apache-2.0
// The module of the page cannot catch exceptions. If the C++ library throws one, for example
// because memory is exhausted, the module aborts and the page reports it.
#include <cstddef>
#include <cstdlib>

extern "C" {

void* __cxa_allocate_exception(std::size_t) noexcept { std::abort(); }
void __cxa_throw(void*, void*, void* (*)(void*)) { std::abort(); }
// No destructor needs to be registered: the page has one thread, and it never ends.
int __cxa_thread_atexit(void (*)(void*), void*, void*) noexcept { return 0; }

}  // extern "C"
