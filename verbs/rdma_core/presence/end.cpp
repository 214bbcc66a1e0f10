// SPDX-License-Identifier: Apache-2.0
// Replaces the functions with which a program ends without running destructors: _exit(2), which
// shells call, and the exec functions. The replacements remove files that no process needs any
// more. The exec functions also run some commands without sudo, or not at all (see commands.hpp).
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "presence/commands.hpp"
#include "presence/folder.hpp"
#include "presence/inside.hpp"
#include "process/next.hpp"
#include "process/session.hpp"

namespace iwarp::rdma_core::presence {
namespace {

/// Removes the file of the session if this process is the first one of the session.
void end_session() {
  const char* const path = ::secure_getenv(kSessionVariable);
  if (path == nullptr) return;
  std::string_view name = path;
  name.remove_prefix(name.rfind('/') + 1);
  if (!name.starts_with(kSessionPrefix)) return;
  name.remove_prefix(kSessionPrefix.size());
  pid_t first = 0;
  std::from_chars(name.data(), name.data() + name.size(), first);
  if (first != ::getpid()) return;
  const Inside guard;
  ::unlink(path);
}

[[gnu::destructor]] void after_main() { end_session(); }

/// Executes a command that sudo would find, also in folders that are often only in the PATH of
/// root.
int execute_without_sudo(char* const* words, char* const* variables) {
  int result = call_next<"execvpe", int>(static_cast<const char*>(words[0]), words, variables);
  for (const char* folder : {"/usr/sbin/", "/sbin/"}) {
    if (errno != ENOENT || std::strchr(words[0], '/') != nullptr) break;
    std::array<char, PATH_MAX> path{};
    std::snprintf(path.data(), path.size(), "%s%s", folder, words[0]);
    result = call_next<"execve", int>(static_cast<const char*>(path.data()), words, variables);
  }
  return result;
}

/// Executes a program with the function `kName` of the C library. `variables` is empty if the
/// program gets the environment of this process.
template <FunctionName kName, typename... Variables>
int execute(const char* path, char* const* words, Variables... variables) {
  char* const* const command = without_sudo(words);
  end_module_command(command != nullptr ? command : words);
  give_back(End::kProgram);
  if (command == nullptr) return call_next<kName, int>(path, words, variables...);
  if constexpr (sizeof...(variables) == 0) {
    return execute_without_sudo(command, environ);
  } else {
    return execute_without_sudo(command, variables...);
  }
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

void _exit(int status) {
  give_back(End::kProcess);
  end_session();
  call_next<"_exit", void>(status);
  __builtin_unreachable();
}
void _Exit(int status) noexcept { _exit(status); }

int execve(const char* path, char* const* words, char* const* variables) noexcept {
  return execute<"execve">(path, words, variables);
}
int execv(const char* path, char* const* words) noexcept { return execute<"execv">(path, words); }
int execvp(const char* file, char* const* words) noexcept { return execute<"execvp">(file, words); }
int execvpe(const char* file, char* const* words, char* const* variables) noexcept {
  return execute<"execvpe">(file, words, variables);
}

}  // extern "C"
