// SPDX-License-Identifier: Apache-2.0
// The exercises, which are compiled into the program, and the rules that name the cause of a
// failure.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::apps::learn {

/// A step of a rule: a line of evidence that must be there.
struct Step {
  std::string expression;  ///< ECMAScript; {1} to {9} stand for groups of earlier steps
  /// Whether the line comes after the line of the step before; otherwise it is anywhere.
  bool is_next = false;
  /// No line between the line of the step before, or the beginning, and this line matches these.
  std::vector<std::string> without;
};

/// A rule of a file `rules`: if the evidence contains a line for each step, and no line for any
/// `excluded` expression, the program fails for this cause.
struct Rule {
  std::string cause;
  std::vector<Step> steps;
  std::vector<std::string> without;  ///< no line after the line of the last step matches these
  std::vector<std::string> excluded;
  std::string says;  ///< {1} to {9} stand for the groups of the steps, in order
};

struct Exercise {
  unsigned number = 0;
  std::string_view folder;  ///< "01-memory"
  std::string_view page;
  std::string_view skeleton;
  std::string_view peer;  ///< the source of the reference peer; empty if there is none
  std::vector<std::string_view> hints;
  std::vector<std::string> options;  ///< of iwarp run
  std::string freedoms;  ///< of the adversarial device: names, each after a comma; empty: all
  std::chrono::milliseconds limit{10'000};
  /// A correct program causes a line of evidence for each of these expressions.
  std::vector<std::string> passes;
  std::vector<Rule> rules;  ///< in the order in which they apply

  /// Returns the first heading of the page, for example "Open the device and register memory".
  std::string_view title() const;
};

/// Returns all exercises in order. The data is static.
const std::vector<Exercise>& exercises();

/// A C header that student files include as "../NAME".
struct Helper {
  std::string_view name;
  std::string_view text;
};
std::vector<Helper> helpers();

/// What a rule found.
struct Finding {
  std::string cause;
  std::string says;
};

/// Returns what the first rule finds that applies to the evidence. An expression that does not
/// begin with "^source" does not match the lines of the source. If no rule applies and a correct
/// program causes a line that is missing, returns the cause "unknown".
std::optional<Finding> first_finding(const Exercise& exercise,
                                     std::span<const std::string> evidence);

/// Reads the text of a file `rules` into `exercise`. Throws Error for a line that is invalid.
void parse_rules(std::string_view text, Exercise& exercise);

}  // namespace iwarp::apps::learn
