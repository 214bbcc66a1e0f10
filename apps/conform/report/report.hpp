// SPDX-License-Identifier: Apache-2.0
// Reports of a run: text in the style of h2spec, JSON, and JUnit XML for continuous integration.
// Only formats text: writes no file and runs no case.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conform/report/runner.hpp"

namespace iwarp::apps::conform {

/// The text report, written case by case: a line per case below the heading of its section.
class TextReport {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// `terminal`: uses colour, and shows the running case in the last line.
  TextReport(Sink sink, bool terminal) : sink_(std::move(sink)), terminal_(terminal) {}

  void begins(const Case& what);
  void ended(const Result& result);
  /// Lists the failed cases again, and the counts.
  void summary(const Report& report);

 private:
  void heading(std::string_view section);
  std::string coloured(std::string_view text, int colour) const;

  Sink sink_;
  bool terminal_;
  std::string_view rfc_;
  std::string_view section_;
};

/// Returns "RFC 5044: Marker PDU Aligned Framing (MPA)" for a case's section.
std::string rfc_title(std::string_view section);

/// Returns one JSON object: peer, role, level, date, cases, summary.
std::string to_json(const Report& report, std::string_view date);

/// Returns JUnit XML with one test suite per section. A failed SHOULD is written as skipped, with
/// the peer's reaction: it does not fail the run.
std::string to_junit(const Report& report, std::string_view date);

/// Return the cases as a text table, and as a JSON array.
std::string list_as_text(const std::vector<const Case*>& cases);
std::string list_as_json(const std::vector<const Case*>& cases);

}  // namespace iwarp::apps::conform
