// SPDX-License-Identifier: Apache-2.0
// Finds the judge and replaces this process with it, or with `iwarp run`, which starts the judge on
// the simulated device.
#include "conform/command/judge_command.hpp"

#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/library_folder.hpp"

namespace iwarp::apps::conform {
namespace {

namespace fs = std::filesystem;

/// In an installation the judge is beside the drop-in libraries.
fs::path judge_path() {
  constexpr const char* kName = "iwarp_judge";
  std::error_code ignored;
  fs::path built = own_path().parent_path() / "judge" / kName;
  return fs::exists(built, ignored) ? built : library_folder() / kName;
}

}  // namespace

void become_judge(const std::vector<std::string>& run_options,
                  const std::vector<std::string>& options) {
  const std::string judge = judge_path();
  const std::string program = run_options.empty() ? judge : own_path().string();
  std::vector<std::string> words{program};
  if (!run_options.empty()) {
    // The report says what the device refuses; its messages would say the same once more.
    words.insert(words.end(), {"run", "--quiet"});
    words.insert(words.end(), run_options.begin(), run_options.end());
    words.push_back(judge);
  }
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw Error(program + ": " + errno_text());
}

}  // namespace iwarp::apps::conform
