// SPDX-License-Identifier: Apache-2.0
// A program with its own allocator, whose calls no library can intercept.
#include "ends.hpp"

extern "C" {

void __libc_free(void* block);

void free(void* block) noexcept { __libc_free(block); }

}  // extern "C"

int main() { return careless::domain() != nullptr ? 0 : 1; }
