// SPDX-License-Identifier: Apache-2.0
// Replaces the functions with which a program ends without running destructors: _exit(2), which
// shells call, and the exec functions. The replacements call give_back() first.
#include <unistd.h>

#include <cstdlib>

#include "presence/folder.hpp"
#include "process/next.hpp"

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

void _exit(int status) {
  give_back(End::kProcess);
  call_next<"_exit", void>(status);
  __builtin_unreachable();
}
void _Exit(int status) noexcept { _exit(status); }

int execve(const char* path, char* const* words, char* const* variables) noexcept {
  give_back(End::kProgram);
  return call_next<"execve", int>(path, words, variables);
}
int execv(const char* path, char* const* words) noexcept {
  give_back(End::kProgram);
  return call_next<"execv", int>(path, words);
}
int execvp(const char* file, char* const* words) noexcept {
  give_back(End::kProgram);
  return call_next<"execvp", int>(file, words);
}
int execvpe(const char* file, char* const* words, char* const* variables) noexcept {
  give_back(End::kProgram);
  return call_next<"execvpe", int>(file, words, variables);
}

}  // extern "C"
