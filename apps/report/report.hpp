// SPDX-License-Identifier: Apache-2.0
// The reports of a run of cases: text in the style of h2spec, JSON, and JUnit XML for continuous
// integration. The functions only format text; they write no files and run no cases.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iwarp::apps::report {

enum class Outcome : std::uint8_t {
  kPass,
  kFail,
  kSkip,           ///< the peer does not do what the case tests
  kRefused,        ///< the device says that it does not offer what the case tests
  kNotApplicable,  ///< the case tests a property that the device does not have
};

/// One comparison of a case.
struct Step {
  std::string call;  ///< what was called; "" if the case does not name it
  std::string expected;
  std::string observed;
  bool is_right = false;
};

/// The result of a case. The views refer to the tables of cases.
struct Entry {
  std::string_view id;
  std::string_view section;       ///< the JUnit test suite, for example "RFC 5044 7.1.2"
  std::string_view requirements;  ///< ids, separated by blanks
  std::string_view title;
  std::string_view role;  ///< of the peer; "" if the cases have no roles
  std::string chapter;    ///< heading of several sections in the text report; may be empty
  std::string heading;    ///< heading of the section
  bool is_should = false;
  Outcome outcome = Outcome::kPass;
  std::vector<Step> steps;
  std::vector<std::string> reasons;  ///< for kFail: the texts of the requirements
  std::string why;                   ///< for all but kPass and kFail
  std::string record;                ///< lines that the text report prints below the case
  std::chrono::nanoseconds took{};
};

/// The results of a run.
struct Report {
  /// What the run tested: members at the start of the JSON report. The first one is the subject.
  std::vector<std::pair<std::string, std::string>> about;
  std::vector<Outcome> others;  ///< outcomes that the summary counts, besides kPass and kFail
  std::vector<Entry> entries;
  std::string ended_early;  ///< why the run stopped early; empty if all cases were run
  std::chrono::nanoseconds took{};
};

/// The text report. It is written while the cases run: a heading for each section, and below it a
/// line for each case.
class TextReport {
 public:
  using Sink = std::function<void(std::string_view)>;
  /// If `terminal` is true, the report has colours, and its last line shows the case that is
  /// running.
  TextReport(Sink sink, bool terminal) : sink_(std::move(sink)), terminal_(terminal) {}

  void begins(std::string_view id);
  void ended(const Entry& entry);
  /// Writes the list of failed cases, and the number of cases with each outcome.
  void summary(const Report& report);

 private:
  void headings(const Entry& entry);
  std::string coloured(std::string_view text, int colour) const;

  Sink sink_;
  bool terminal_;
  std::string chapter_;
  std::string heading_;
};

/// Returns the report as one JSON object with the members of `about`, date, cases and summary.
std::string to_json(const Report& report, std::string_view date);

/// Returns JUnit XML with one test suite per section. A violated SHOULD does not fail the run: its
/// case is reported as skipped, with the peer's reaction.
std::string to_junit(const Report& report, std::string_view date);

/// Returns the list of cases as a JSON array.
std::string list_as_json(const std::vector<Entry>& cases);

/// Returns whether the entry makes the run fail: a violated MUST does, a violated SHOULD does not.
bool fails_run(const Entry& entry);
/// Returns the wrong steps as one line: "CALL: expected X; observed Y", without CALL if it is
/// empty.
std::string differences(const Entry& entry);
/// Returns the number of entries with this outcome.
std::size_t count(const Report& report, Outcome outcome);
/// Returns "pass", "fail", "skipped", "refused" or "not applicable".
std::string_view word_of(Outcome outcome);

}  // namespace iwarp::apps::report
