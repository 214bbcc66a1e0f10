// SPDX-License-Identifier: Apache-2.0
// A violation that a run has found, and the log of a run.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace iwarp::chaos {

/// A broken rule. `rule` must stay the same while a plan is shrunk; `detail` may change.
struct Violation {
  std::string rule;
  std::string detail;
};

/// Throws a Violation unless `holds` is true. Formats the detail only in that case, because most
/// runs break no rule.
template <typename... Args>
void require(bool holds, const char* rule, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw Violation{rule, fmt::format(format, std::forward<Args>(args)...)};
}

/// The log of a run, line by line. Kept only if it will be printed.
class Story {
 public:
  explicit Story(std::vector<std::string>* lines) : lines_(lines) {}
  template <typename... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) const {
    if (lines_ != nullptr) lines_->push_back(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::vector<std::string>* lines_;
};

}  // namespace iwarp::chaos
