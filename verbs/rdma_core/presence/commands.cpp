// SPDX-License-Identifier: Apache-2.0
// Also contains the constructor of the library, which ends such a modprobe before its main().
#include "presence/commands.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "presence/warn.hpp"
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

[[gnu::constructor]] void before_main(int /*count*/, char** words, char** /*variables*/) {
  if (words != nullptr) end_module_command(words);
}

}  // namespace

void end_module_command(const char* const* words) {
  if (words == nullptr || !is_rdma_module_command(words) || !settings_now().presence) return;
  std::string command(file_name(words[0]));
  while (*++words != nullptr) command.append(" ").append(*words);
  log_line(verbs::LogLevel::kInfo, "module",
           command + ": does nothing, because this stack provides the device");
  ::_exit(0);
}

char* const* without_sudo(char* const* words) {
  if (words == nullptr || words[0] == nullptr || file_name(words[0]) != "sudo") return nullptr;
  ++words;
  while (*words != nullptr && is_option(*words, kSudoFlags, kSudoWords)) ++words;
  if (*words != nullptr && std::string_view(*words) == "--") ++words;
  if (*words == nullptr) return nullptr;
  const bool is_rdma = is_rdma_module_command(words) || is_rdma_program(file_name(*words));
  return is_rdma && settings_now().presence ? words : nullptr;
}

}  // namespace iwarp::rdma_core::presence
