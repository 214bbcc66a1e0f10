// SPDX-License-Identifier: Apache-2.0
// Formats the text report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "report/report.hpp"

namespace iwarp::apps::report {
namespace {

constexpr int kRed = 31;
constexpr int kGreen = 32;
constexpr int kCyan = 36;

constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string outcome_lines(const Entry& entry, std::string_view indent) {
  if (entry.outcome == Outcome::kPass) return {};
  if (entry.outcome != Outcome::kFail) return fmt::format("{}-> {}\n", indent, entry.why);
  std::string out;
  for (const Step& step : entry.steps) {
    if (step.is_right) continue;
    std::string_view arrow = "->";
    if (!step.call.empty()) {
      out += fmt::format("{}{} Called:   {}\n", indent, std::exchange(arrow, "  "), step.call);
    }
    out += fmt::format("{0}{1} Expected: {2}\n{0}   Actual:   {3}\n", indent, arrow, step.expected,
                       step.observed);
  }
  for (const std::string& reason : entry.reasons) {
    out += fmt::format("{}   Rule:     {}\n", indent, reason);
  }
  return out;
}

std::string level_mark(const Entry& entry) { return entry.is_should ? " (SHOULD)" : ""; }

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

std::string_view word_of(Outcome outcome) {
  constexpr std::array<std::string_view, 5> kWords{"pass", "fail", "skipped", "refused",
                                                   "not applicable"};
  return kWords[static_cast<std::size_t>(outcome)];
}

bool fails_run(const Entry& entry) { return entry.outcome == Outcome::kFail && !entry.is_should; }

std::size_t count(const Report& report, Outcome outcome) {
  return static_cast<std::size_t>(std::ranges::count(report.entries, outcome, &Entry::outcome));
}

std::string differences(const Entry& entry) {
  std::vector<std::string> parts;
  for (const Step& step : entry.steps) {
    if (step.is_right) continue;
    const std::string call = step.call.empty() ? "" : step.call + ": ";
    parts.push_back(fmt::format("{}expected {}; observed {}", call, step.expected, step.observed));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string TextReport::coloured(std::string_view text, int colour) const {
  return terminal_ ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
}

void TextReport::headings(const Entry& entry) {
  if (entry.chapter == chapter_ && entry.heading == heading_) return;
  if (entry.chapter != chapter_) sink_(fmt::format("\n{}\n", entry.chapter));
  chapter_ = entry.chapter;
  heading_ = entry.heading;
  sink_(fmt::format("\n  {}\n", entry.heading));
}

void TextReport::begins(std::string_view id) {
  if (terminal_) sink_(fmt::format("    ... {}", id));
}

void TextReport::ended(const Entry& entry) {
  if (terminal_) sink_(kEraseLine);
  headings(entry);
  std::string mark = coloured("-", kCyan);
  if (entry.outcome == Outcome::kPass) mark = coloured("\u2714", kGreen);
  if (entry.outcome == Outcome::kFail) mark = coloured("\u00d7", kRed);
  sink_(fmt::format("    {} {}: {}{}\n", mark, entry.id, entry.title, level_mark(entry)));
  sink_(outcome_lines(entry, "      "));
  sink_(indented(entry.record));
}

void TextReport::summary(const Report& report) {
  if (terminal_) sink_(kEraseLine);
  const std::size_t failed = count(report, Outcome::kFail);
  if (failed != 0) sink_(coloured("\nFailed:\n", kRed));
  for (const Entry& entry : report.entries) {
    if (entry.outcome != Outcome::kFail) continue;
    sink_(fmt::format("  {} ({}; {}){}\n", entry.id, entry.section, entry.requirements,
                      level_mark(entry)));
    sink_(outcome_lines(entry, "    "));
  }
  sink_(fmt::format("\nFinished in {:.1f} seconds\n",
                    std::chrono::duration<double>(report.took).count()));
  if (!report.ended_early.empty()) {
    sink_(coloured(fmt::format("Ended early: {}\n", report.ended_early), kRed));
  }
  std::string counts = fmt::format("{} cases, {} passed, {} failed", report.entries.size(),
                                   count(report, Outcome::kPass), failed);
  for (const Outcome other : report.others) {
    counts += fmt::format(", {} {}", count(report, other), word_of(other));
  }
  sink_(coloured(counts, failed == 0 ? kGreen : kRed));
  const auto must_failed = std::ranges::count_if(report.entries, fails_run);
  const auto should_failed = static_cast<std::ptrdiff_t>(failed) - must_failed;
  if (should_failed != 0) {
    sink_(fmt::format(" (failed cases that test a SHOULD: {})", should_failed));
  }
  sink_("\n");
}

}  // namespace iwarp::apps::report
