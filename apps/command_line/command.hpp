// SPDX-License-Identifier: Apache-2.0
// Command: describes a subcommand by data (its name, its options and its action). The parser,
// --help, the man pages and the shell completions are all generated from a Command, so they cannot
// contradict each other. This header does not need CLI11: only parse.cpp includes it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::apps::cli {

/// What the shell offers as completions for the value of an option.
enum class Completion : std::uint8_t { kNothing, kFile, kDirectory };

/// One option, flag or positional argument.
struct Option {
  using Words = std::vector<std::string>;

  std::string names;       ///< "-q,--quiet", for example; for a positional argument: "URL"
  std::string value_name;  ///< placeholder for the value, such as "N"; empty if there is none
  std::string help;        ///< one paragraph, without line breaks; --help wraps it
  std::string group;       ///< heading under which --help lists the option; empty means "Options"
  std::string default_text;
  Words choices;                    ///< the only valid values; empty if any value is valid
  Words suggestions;                ///< values that the shell offers; other values may be valid
  std::vector<std::string> rivals;  ///< options that cannot be combined with this one
  bool is_argument = false;
  bool is_required = false;
  bool is_repeatable = false;  ///< whether the option may be given more than once
  bool is_greedy = false;      ///< whether the option takes all values that follow it
  bool is_value_optional = false;
  Completion completion = Completion::kNothing;
  /// Stores the words that were given for the option. Returns an error text, or an empty string if
  /// the words are valid.
  std::function<std::string(const Words&)> take;

  bool is_flag() const { return !is_argument && value_name.empty(); }
  /// Returns the long spelling, for example "--quiet" if `names` is "-q,--quiet".
  std::string long_name() const;

  // Each of the following setters returns the option, so that calls can be chained.
  Option& required();
  Option& excludes(std::string other);
  Option& completes(Completion what);
  /// Lets the shell offer these words. An argument may then have other values too.
  Option& suggests(Words words);
  /// Lets the option be given more than once, with one value each time.
  Option& repeatable();
  /// Lets the option take all words that follow, up to the next option.
  Option& greedy();
  /// Adds a function that checks each word before the value is stored. `fault` returns an error
  /// text, or an empty string if the word is valid.
  Option& check(std::function<std::string(const std::string&)> fault);
  /// Adds a function that is called each time a value has been stored.
  Option& then(std::function<void()> act);
};

/// An exit status, or several, and when the command has it.
struct ExitStatus {
  std::string status;
  std::string when;  ///< a phrase without a full stop
};

/// The options that the command line contained, and the words that follow the last option.
struct Given {
  /// The options that were given. Maps the long name of an option to its last value.
  std::map<std::string, std::string, std::less<>> words;
  /// The options that were given, as words for another program: "--name=VALUE" or "--name".
  std::vector<std::string> options;
  /// The words that were not parsed. Only used by commands with `takes_command`.
  std::vector<std::string> rest;
  bool has_mark = false;  ///< whether "--" preceded the words in `rest`
  bool has(std::string_view name) const;
};

/// Inclusive bounds of a number.
struct Range {
  double low = 0;
  double high = 0;
};

/// A subcommand. Its options store their values in variables outside of this object. These
/// variables must outlive `run`: keep them in a shared_ptr that `run` captures.
class Command {
 public:
  Command(std::string command_name, std::string one_line)
      : name(std::move(command_name)), summary(std::move(one_line)) {}

  std::string name;
  std::string summary;  ///< one line, without a full stop
  std::string usage;    ///< replaces the generated usage line; does not include "Usage: iwarp "
  std::string notes;    ///< text that --help prints verbatim below the options
  /// Examples in --help: "iwarp ...", optionally followed by two blanks and an explanation.
  std::vector<std::string> shown;
  /// The EXIT STATUS of the man page.
  std::vector<ExitStatus> statuses{{"0", "success"},
                                   {"1", "failure; standard error gives the reason"},
                                   {"2", "the command line is invalid"}};
  std::deque<Option> options;
  std::vector<Command> commands;
  /// Whether parsing stops at the first word that is not an option. The command gets this word and
  /// all words after it unparsed.
  bool takes_command = false;
  /// Runs the command and returns its exit status. Throws the exceptions of error.hpp.
  std::function<int(const Given&)> run;

  Option& flag(std::string names, bool& value, std::string help);
  /// Adds a flag and counts how often it is given: `value` is 2 for "-vv".
  Option& count(std::string names, unsigned& value, std::string help);
  Option& text(std::string names, std::string value_name, std::string& value, std::string help);
  /// Adds an option whose value is the path of a file.
  Option& file(std::string names, std::string value_name, std::string& value, std::string help);
  /// Adds an option whose value may be omitted; `value` is "" in that case.
  Option& optional_text(std::string names, std::string value_name,
                        std::optional<std::string>& value, std::string help);
  Option& texts(std::string names, std::string value_name, std::vector<std::string>& value,
                std::string help);
  Option& choice(std::string names, std::string& value, std::vector<std::string> of,
                 std::string help);
  Option& number(std::string names, std::string value_name, unsigned& value, Range range,
                 std::string help);
  Option& number(std::string names, std::string value_name, std::uint64_t& value, Range range,
                 std::string help);
  Option& number(std::string names, std::string value_name, double& value, Range range,
                 std::string help);
  /// Adds an option whose value is a number of bytes. K, M and G stand for powers of 1024.
  Option& size(std::string names, std::uint64_t& value, Range range, std::string help);
  Option& argument(std::string title, std::string& value, std::string help);
  Option& arguments(std::string title, std::vector<std::string>& value, std::string help);

  /// Adds `option`, which may be of a kind that the functions above do not cover.
  Option& add(Option option);

  /// Puts the options that are declared after this call under the heading `title`.
  void begin_group(std::string title) { group_ = std::move(title); }

 private:
  std::string group_;
};

/// Parses "4096", "64K", "1M" or "2G" (powers of 1024). Returns nullopt if `text` is not such a
/// number or exceeds 2^63.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Makes a word safe to quote in a message: replaces unprintable characters, and truncates the word
/// to fit in a line.
std::string excerpt(std::string_view word);

}  // namespace iwarp::apps::cli
