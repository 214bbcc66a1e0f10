// SPDX-License-Identifier: Apache-2.0
// Replaces the functions with which a program ends without running destructors: _exit(2), which
// shells call, and the exec functions. The replacements remove files that no process needs any
// more. The exec functions also recognize commands of set-up scripts that would change the kernel,
// or that would lose the preloaded libraries, and run them without sudo, or not at all. The
// constructor of the library ends such a modprobe before its main(). Other commands cost no memory.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "presence/folder.hpp"
#include "presence/inside.hpp"
#include "presence/warn.hpp"
#include "process/next.hpp"
#include "process/session.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {
namespace {

constexpr std::array<std::string_view, 12> kModules{"rdma_rxe", "siw",       "ib_core", "ib_cm",
                                                    "iw_cm",    "ib_uverbs", "rdma_cm", "rdma_ucm",
                                                    "mlx4_ib",  "mlx5_ib",   "mana_ib", "irdma"};
// Options of modprobe and rmmod that have no value.
constexpr std::string_view kModuleFlags = "abfinqrsvw";
constexpr std::array<std::string_view, 10> kModuleWords{
    "--all",   "--use-blacklist", "--force",  "--ignore-install", "--dry-run",
    "--quiet", "--remove",        "--syslog", "--verbose",        "--first-time"};
// Options of sudo that neither have a value nor change the command.
constexpr std::string_view kSudoFlags = "nEHSAk";
constexpr std::array<std::string_view, 5> kSudoWords{"--non-interactive", "--preserve-env",
                                                     "--set-home", "--stdin", "--askpass"};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Returns whether the word consists of options that are in `flags` or `words`.
template <std::size_t kSize>
bool is_option(std::string_view word, std::string_view flags,
               const std::array<std::string_view, kSize>& words) {
  if (word.starts_with("--")) return std::ranges::find(words, word) != words.end();
  return word.size() > 1 && word[0] == '-' && word.substr(1).find_first_not_of(flags) == word.npos;
}

/// In the names of modules, '-' and '_' are equal.
bool is_rdma_module(std::string_view name) {
  return std::ranges::any_of(kModules, [name](std::string_view module) {
    return std::ranges::equal(name, module,
                              [](char a, char b) { return (a == '-' ? '_' : a) == b; });
  });
}

bool is_rdma_program(std::string_view name) {
  return name == "rdma" || name == "rping" || name.starts_with("ibv_") || name.starts_with("ib_");
}

/// Returns whether the command loads or unloads only RDMA modules.
bool is_rdma_module_command(const char* const* words) {
  if (words[0] == nullptr) return false;
  const std::string_view program = file_name(words[0]);
  if (program != "modprobe" && program != "rmmod") return false;
  bool names_module = false;
  for (++words; *words != nullptr; ++words) {
    const std::string_view word = *words;
    const bool is_parameter = names_module && word.contains('=');
    if (is_rdma_module(word)) {
      names_module = true;
    } else if (!is_parameter && !is_option(word, kModuleFlags, kModuleWords)) {
      return false;
    }
  }
  return names_module;
}

/// If `words` is a modprobe or rmmod command that loads or unloads only RDMA modules, which no
/// program needs under `iwarp run`, logs one line and ends the process with status 0.
void end_module_command(const char* const* words) {
  if (words == nullptr || !is_rdma_module_command(words) || !settings_now().presence) return;
  std::string command(file_name(words[0]));
  while (*++words != nullptr) command.append(" ").append(*words);
  log_line(verbs::LogLevel::kInfo, "module",
           command + ": does nothing, because this stack provides the device");
  ::_exit(0);
}

/// If `words` is a sudo command that runs modprobe or rmmod for RDMA modules, or an RDMA program,
/// returns the words of the command that sudo runs. Otherwise returns null. sudo itself would run
/// the command without the preloaded libraries.
char* const* without_sudo(char* const* words) {
  if (words == nullptr || words[0] == nullptr || file_name(words[0]) != "sudo") return nullptr;
  ++words;
  while (*words != nullptr && is_option(*words, kSudoFlags, kSudoWords)) ++words;
  if (*words != nullptr && std::string_view(*words) == "--") ++words;
  if (*words == nullptr) return nullptr;
  const bool is_rdma = is_rdma_module_command(words) || is_rdma_program(file_name(*words));
  return is_rdma && settings_now().presence ? words : nullptr;
}

[[gnu::constructor]] void before_main(int /*count*/, char** words, char** /*variables*/) {
  if (words != nullptr) end_module_command(words);
}

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
  return or_no_memory([=] {
    char* const* const command = without_sudo(words);
    end_module_command(command != nullptr ? command : words);
    give_back(End::kProgram);
    if (command == nullptr) return call_next<kName, int>(path, words, variables...);
    if constexpr (sizeof...(variables) == 0) {
      return execute_without_sudo(command, environ);
    } else {
      return execute_without_sudo(command, variables...);
    }
  });
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

void _exit(int status) {
  or_no_memory([] {
    give_back(End::kProcess);
    end_session();
  });
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
