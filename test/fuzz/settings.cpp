// SPDX-License-Identifier: Apache-2.0
// Target: the environment of a program under `iwarp run`, with one NAME=VALUE in each line.
// Properties: a value either takes effect or is reported under its name, and a value that takes
// effect is within its limits.
#include "process/settings.hpp"

#include <map>
#include <string>

#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace rdma_core;  // NOLINT(google-build-using-namespace): all tested code is in it

using Variables = std::map<std::string, std::string, std::less<>>;

Variables variables_in(View input) {
  const std::string_view all(reinterpret_cast<const char*>(input.data()), input.size());
  Variables out;
  for (std::size_t begin = 0; begin < all.size();) {
    const auto end = std::min(all.find('\n', begin), all.size());
    const auto line = all.substr(begin, end - begin);
    if (const auto equals = line.find('='); equals != std::string_view::npos) {
      out[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
    begin = end + 1;
  }
  return out;
}

void check(const Settings& settings) {
  for (const auto& option : options::all()) {
    const auto text = options::show(option, settings);
    Settings again;
    require(text.empty() || options::set(option, text, again),
            "a value that takes effect is within its limits");
    require(!text.empty() || option.value.kind != options::Kind::kWord,
            "an option with a list of words has a text");
  }
}

}  // namespace

void run(View input) {
  const auto variables = variables_in(input);
  std::size_t complaints = 0;
  const auto settings = read_settings(
      [&](const char* name) {
        const auto found = variables.find(std::string_view(name));
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      [&](const std::string& complaint) {
        ++complaints;
        const auto name = complaint.substr(0, complaint.find('='));
        require(variables.contains(name), "an error message names its variable");
      });
  require(complaints <= variables.size(), "there is at most one error message per variable");
  check(settings);
}

}  // namespace iwarp::fuzz
