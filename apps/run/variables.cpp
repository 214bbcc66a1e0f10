// SPDX-License-Identifier: Apache-2.0
// Returns one IWARP_* variable for each option that was given, with the option's value.
#include "variables.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "command_line/suggest.hpp"
#include "common/base/input_file.hpp"
#include "common/connection/options.hpp"

namespace iwarp::apps {

namespace {

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

std::string value_of(const options::Option& option, const std::string& word) {
  if (option.value.kind == options::Kind::kFlag) return "on";
  // The command line has "true" in place of a text that was omitted.
  const bool is_omitted = word == "true" && !option.value.if_omitted.empty();
  if (is_omitted) return std::string(option.value.if_omitted);
  const bool is_path = option.value.is_opened_late &&
                       std::ranges::find(option.value.words, word) == option.value.words.end();
  return is_path ? absolute(rereadable(word)) : spelled_out(option, word);
}

}  // namespace

Environment variables_of(const cli::Given& given) {
  Environment out;
  bool wants_tls = false;
  for (const auto& option : options::all()) {
    const auto word = given.words.find(option.long_name());
    if (word == given.words.end()) continue;
    out.push_back({option.variable, value_of(option, word->second)});
    wants_tls = wants_tls || option.group == options::Group::kTls;
  }
  // Each option of the TLS group enables TLS, even if its value is empty. Such an option overrides
  // an IWARP_TLS that the user has set.
  if (wants_tls && !given.has("--tls")) out.push_back({"IWARP_TLS", "on"});
  if (given.has("--quiet")) out.push_back({"IWARP_LOG", "off"});
  return out;
}

std::vector<std::string> misspelled_variables() {
  constexpr std::string_view kPrefix = "IWARP_";
  std::vector<std::string> known;
  for (const auto& option : options::all()) known.push_back(option.variable);
  for (std::string& name : known) name.erase(0, kPrefix.size());
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    // IWARP_LONG=1 is for the tests of this project.
    if (!text.starts_with(kPrefix) || text.starts_with("IWARP_LONG=")) continue;
    const auto name = text.substr(kPrefix.size(), text.find('=') - kPrefix.size());
    const std::string near = cli::nearest(name, known);
    if (near.empty() || near == name) continue;
    out.push_back(
        fmt::format("unknown variable {0}{1}; did you mean {0}{2}?", kPrefix, name, near));
  }
  return out;
}

}  // namespace iwarp::apps
