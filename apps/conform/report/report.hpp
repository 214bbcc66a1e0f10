// SPDX-License-Identifier: Apache-2.0
// What a run of the conformance cases looks like to people (text, in the manner of h2spec), to
// programs (JSON) and to a continuous integration server (JUnit XML). Pure text making: nothing
// here writes to a file or runs a case.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "conform/report/runner.hpp"

namespace iwarp::apps::conform {

/// The text report, as it grows: a line per case below the heading of its section.
class TextReport {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// `terminal`: with colour, and with the case that is running as the last line.
  TextReport(Sink sink, bool terminal) : sink_(std::move(sink)), terminal_(terminal) {}

  void begins(const Case& what);
  void ended(const Result& result);
  /// What failed once more, the counts.
  void summary(const Report& report);

 private:
  void heading(std::string_view section);
  std::string coloured(std::string_view text, int colour) const;

  Sink sink_;
  bool terminal_;
  std::string_view rfc_;
  std::string_view section_;
};

/// "RFC 5044: Marker PDU Aligned Framing (MPA)" of a case's section.
std::string rfc_title(std::string_view section);

/// One JSON object: peer, role, level, date, cases, summary.
std::string to_json(const Report& report, std::string_view date);

/// JUnit XML, one test suite per section. A SHOULD that is not met is written as skipped, with what
/// came: it does not fail the run.
std::string to_junit(const Report& report, std::string_view date);

/// The cases as a table for people, and as a JSON array.
std::string list_as_text(const std::vector<const Case*>& cases);
std::string list_as_json(const std::vector<const Case*>& cases);

}  // namespace iwarp::apps::conform
