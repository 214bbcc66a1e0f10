// SPDX-License-Identifier: Apache-2.0
// Formats the text report and the table of cases.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conform/report/report.hpp"

namespace iwarp::apps::conform {
namespace {

constexpr int kRed = 31;
constexpr int kGreen = 32;
constexpr int kCyan = 36;

constexpr std::string_view kEraseLine = "\r\x1b[K";

struct RfcTitle {
  std::string_view rfc;
  std::string_view title;
};
constexpr std::array kTitles{
    RfcTitle{"RFC 5044", "Marker PDU Aligned Framing (MPA)"},
    RfcTitle{"RFC 6581", "Enhanced MPA Connection Establishment"},
    RfcTitle{"RFC 5041", "Direct Data Placement (DDP)"},
    RfcTitle{"RFC 5040", "Remote Direct Memory Access Protocol (RDMAP)"},
    RfcTitle{"RFC 7306", "RDMA Protocol Extensions"},
    RfcTitle{"RFC 5042", "DDP and RDMAP Security"},
};

std::string_view rfc_of(std::string_view section) {
  return section.substr(0, kTitles[0].rfc.size());
}

std::string outcome_lines(const Result& result, std::string_view indent) {
  if (result.outcome == Outcome::kSkip) return fmt::format("{}-> {}\n", indent, result.why);
  if (result.outcome == Outcome::kPass) return {};
  return fmt::format("{0}-> Expected: {1}\n{0}   Actual:   {2}\n", indent, result.expected,
                     result.came);
}

std::string level_mark(const Case& what) { return what.level == Level::kShould ? " (SHOULD)" : ""; }

std::string indented(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    out += fmt::format("        {}", lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::string rfc_title(std::string_view section) {
  const auto rfc = rfc_of(section);
  const auto* row = std::ranges::find(kTitles, rfc, &RfcTitle::rfc);
  return row == kTitles.end() ? std::string(rfc) : fmt::format("{}: {}", rfc, row->title);
}

std::string TextReport::coloured(std::string_view text, int colour) const {
  return terminal_ ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
}

void TextReport::heading(std::string_view section) {
  if (section == section_) return;
  section_ = section;
  const auto rfc = rfc_of(section);
  if (rfc != rfc_) sink_(fmt::format("\n{}\n", rfc_title(section)));
  rfc_ = rfc;
  section.remove_prefix(std::min(section.size(), rfc.size() + 1));
  sink_(fmt::format("\n  Section {}\n", section));
}

void TextReport::begins(const Case& what) {
  if (terminal_) sink_(fmt::format("    ... {}", what.id));
}

void TextReport::ended(const Result& result) {
  const Case& what = *result.what;
  if (terminal_) sink_(kEraseLine);
  heading(what.section);
  std::string mark = coloured("\u2714", kGreen);
  if (result.outcome == Outcome::kFail) mark = coloured("\u00d7", kRed);
  if (result.outcome == Outcome::kSkip) mark = coloured("-", kCyan);
  sink_(fmt::format("    {} {}: {}{}\n", mark, what.id, what.title, level_mark(what)));
  sink_(outcome_lines(result, "      "));
  sink_(indented(result.record));
}

void TextReport::summary(const Report& report) {
  if (terminal_) sink_(kEraseLine);
  const Counts counts = count(report.results);
  if (counts.failed != 0) sink_(coloured("\nFailed:\n", kRed));
  for (const Result& result : report.results) {
    if (result.outcome != Outcome::kFail) continue;
    const Case& what = *result.what;
    sink_(fmt::format("  {} ({}; {}){}\n", what.id, what.section, what.requirements,
                      level_mark(what)));
    sink_(outcome_lines(result, "    "));
  }
  sink_(fmt::format("\nFinished in {:.1f} seconds\n",
                    std::chrono::duration<double>(report.took).count()));
  if (!report.ended_early.empty()) {
    sink_(coloured(fmt::format("Ended early: {}\n", report.ended_early), kRed));
  }
  sink_(coloured(fmt::format("{} cases, {} passed, {} failed, {} skipped", report.results.size(),
                             counts.passed, counts.failed, counts.skipped),
                 counts.failed == 0 ? kGreen : kRed));
  const auto should_failed = counts.failed - counts.must_failed;
  if (should_failed != 0)
    sink_(fmt::format(" (failed cases that test a SHOULD: {})", should_failed));
  sink_("\n");
}

std::string list_as_text(const std::vector<const Case*>& cases) {
  std::size_t id = 0;
  std::size_t section = 0;
  for (const Case* what : cases) {
    id = std::max(id, what->id.size());
    section = std::max(section, what->section.size());
  }
  constexpr std::array kLevels{"MUST", "SHOULD"};
  constexpr std::array kRoles{"responder", "initiator", "either"};
  std::string out;
  for (const Case* what : cases) {
    out +=
        fmt::format("{:<{}}  {:<{}}  {:<6}  {:<9}  {} [{}]\n", what->id, id, what->section, section,
                    kLevels[static_cast<std::size_t>(what->level)],
                    kRoles[static_cast<std::size_t>(what->role)], what->title, what->requirements);
  }
  return out + fmt::format("{} cases\n", cases.size());
}

}  // namespace iwarp::apps::conform
