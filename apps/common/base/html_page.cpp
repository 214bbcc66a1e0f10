// SPDX-License-Identifier: Apache-2.0
// Replaces the placeholders in the template of a page.
#include "common/base/html_page.hpp"

namespace iwarp::apps {

std::string script_safe(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  while (!page.empty()) {
    auto nearest = page.size();
    const std::pair<std::string_view, std::string>* which = nullptr;
    for (const auto& value : values) {
      const auto at = page.find(value.first);
      if (at < nearest) {
        nearest = at;
        which = &value;
      }
    }
    out += page.substr(0, nearest);
    if (which == nullptr) break;
    out += which->second;
    page.remove_prefix(nearest + which->first.size());
  }
  return out;
}

}  // namespace iwarp::apps
