// SPDX-License-Identifier: Apache-2.0
// The reports of a run: text in the style of h2spec, JSON, and JUnit XML for continuous
// integration. The functions only format text; they write no files and run no cases.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conform/report/runner.hpp"

namespace iwarp::apps::conform {

/// The text report. It is written while the cases run: a heading for each section, and below it a
/// line for each case.
class TextReport {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// If `terminal` is true, the report has colours, and its last line shows the case that is
  /// running.
  TextReport(Sink sink, bool terminal) : sink_(std::move(sink)), terminal_(terminal) {}

  void begins(const Case& what);
  void ended(const Result& result);
  /// Writes the list of failed cases, and the numbers of passed, failed and skipped cases.
  void summary(const Report& report);

 private:
  void heading(std::string_view section);
  std::string coloured(std::string_view text, int colour) const;

  Sink sink_;
  bool terminal_;
  std::string_view rfc_;
  std::string_view section_;
};

/// Returns the RFC and its title for a section, for example "RFC 5044: Marker PDU Aligned Framing
/// (MPA)".
std::string rfc_title(std::string_view section);

/// Returns the report as one JSON object with the members peer, role, level, date, cases and
/// summary.
std::string to_json(const Report& report, std::string_view date);

/// Returns JUnit XML with one test suite per section. A violated SHOULD does not fail the run: its
/// case is reported as skipped, with the peer's reaction.
std::string to_junit(const Report& report, std::string_view date);

/// Each function returns the list of cases, as a text table or as a JSON array.
std::string list_as_text(const std::vector<const Case*>& cases);
std::string list_as_json(const std::vector<const Case*>& cases);

}  // namespace iwarp::apps::conform
