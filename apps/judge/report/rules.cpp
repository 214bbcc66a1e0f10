// SPDX-License-Identifier: Apache-2.0
// Finds the row of a rule in the tables of requirements, and shows its source and its text.
#include "judge/report/rules.hpp"

#include <fmt/format.h>

#include <ranges>

namespace iwarp::judge {

std::string_view rule_tables(std::string_view name);  // made by CMake

namespace {

/// Returns the text of column `index` of a row of a table, whose columns are separated by " | ".
std::string_view column(std::string_view row, std::size_t index) {
  constexpr std::string_view kSeparator = " | ";
  for (; index > 0; --index) {
    const auto at = row.find(kSeparator);
    if (at == row.npos) return {};
    row.remove_prefix(at + kSeparator.size());
  }
  return row.substr(0, row.find(kSeparator));
}

std::string rule_text(std::string_view id) {
  constexpr std::size_t kSource = 1;
  constexpr std::size_t kRequirement = 3;
  const std::string_view tables = rule_tables("all");
  const auto at = tables.find(fmt::format("\n| {} | ", id));
  if (at == tables.npos) return std::string(id);
  std::string_view row = tables.substr(at + 1);
  row = row.substr(0, row.find('\n'));
  return fmt::format("{}, {}: {}", id, column(row, kSource), column(row, kRequirement));
}

}  // namespace

std::vector<std::string> rule_texts(std::string_view rows) {
  std::vector<std::string> out;
  for (const auto id : std::views::split(rows, ' ')) {
    if (!id.empty()) out.push_back(rule_text(std::string_view(id)));
  }
  return out;
}

}  // namespace iwarp::judge
