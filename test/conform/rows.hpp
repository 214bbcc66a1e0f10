// SPDX-License-Identifier: Apache-2.0
// Reads the rows of rfc-notes/requirements, for tests that compare tables with them.
#pragma once

#include <doctest/doctest.h>
#include <regex.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

namespace iwarp::test {

// A POSIX extended regular expression from <regex.h>, because GCC 12 with sanitizers warns about
// its own std::regex.
class Pattern {
 public:
  explicit Pattern(const char* text) {
    REQUIRE_EQ(regcomp(&pattern_, text, REG_EXTENDED | REG_NOSUB), 0);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { regfree(&pattern_); }

  bool matches(std::string_view text) const {
    return regexec(&pattern_, std::string(text).c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t pattern_;
};

// Returns the ids of all rows in rfc-notes/requirements.
inline std::set<std::string> requirement_ids() {
  std::set<std::string> ids;
  const Pattern row("^[|] [A-Z]+-[0-9]+ [|]");
  const std::filesystem::path folder = std::string(IWARP_SOURCE_DIR) + "/rfc-notes/requirements";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (row.matches(line)) ids.insert(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return ids;
}

}  // namespace iwarp::test
