// SPDX-License-Identifier: Apache-2.0
// Replaces the functions with which a program ends without running destructors: _exit(2), which
// shells call, and the exec functions. The replacements call give_back() first.
#include <unistd.h>

#include <cstdlib>

#include "presence/folder.hpp"
#include "presence/next.hpp"

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

void _exit(int status) {
  static Next<void(int)> next("_exit");
  give_back(End::kProcess);
  next(status);
  __builtin_unreachable();
}
void _Exit(int status) noexcept { _exit(status); }

int execve(const char* path, char* const* words, char* const* variables) noexcept {
  static Next<int(const char*, char* const*, char* const*)> next("execve");
  give_back(End::kProgram);
  return next(path, words, variables);
}
int execv(const char* path, char* const* words) noexcept {
  static Next<int(const char*, char* const*)> next("execv");
  give_back(End::kProgram);
  return next(path, words);
}
int execvp(const char* file, char* const* words) noexcept {
  static Next<int(const char*, char* const*)> next("execvp");
  give_back(End::kProgram);
  return next(file, words);
}
int execvpe(const char* file, char* const* words, char* const* variables) noexcept {
  static Next<int(const char*, char* const*, char* const*)> next("execvpe");
  give_back(End::kProgram);
  return next(file, words, variables);
}

}  // extern "C"
