// SPDX-License-Identifier: Apache-2.0
// Command: name, options and action of a subcommand, as data. The parser, --help, the man pages and
// the shell completions are all generated from it, so they cannot disagree. Independent of the
// command-line library: only parse.cpp includes CLI11.
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

/// What a shell offers as the value of an option.
enum class Completion : std::uint8_t { kNothing, kFile, kDirectory };

/// One option, flag or positional argument.
struct Option {
  using Words = std::vector<std::string>;

  std::string names;       ///< "-q,--quiet"; for an argument its name in capitals, "URL"
  std::string value_name;  ///< "N"; empty for a flag or an argument
  std::string help;        ///< one paragraph; wrapped when printed
  std::string group;       ///< heading in --help; empty: "Options"
  std::string default_text;
  Words choices;                    ///< the only valid values; empty if any value is valid
  std::vector<std::string> rivals;  ///< options that cannot be combined with this one
  bool is_argument = false;
  bool is_required = false;
  bool is_repeatable = false;  ///< may be given more than once
  bool is_greedy = false;      ///< takes all values that follow it
  bool is_value_optional = false;
  Completion completion = Completion::kNothing;
  /// Stores the words given for the option. Returns an empty text, or what is wrong with the words.
  std::function<std::string(const Words&)> take;

  bool is_flag() const { return !is_argument && value_name.empty(); }
  /// Returns the long spelling: "--quiet" of "-q,--quiet".
  std::string long_name() const;

  // The following setters return the option, so that a declaration can chain them.
  Option& required();
  Option& excludes(std::string other);
  Option& completes(Completion what);
  /// Lets the option be given more than once, with one value each time.
  Option& repeatable();
  /// Lets any number of values follow, up to the next option.
  Option& greedy();
  /// Validates each word before its value is stored: `fault` returns "" or what is wrong with the
  /// word.
  Option& check(std::function<std::string(const std::string&)> fault);
};

/// Which options were on the command line, and the words behind the last of them.
struct Given {
  std::map<std::string, std::string, std::less<>> words;  ///< long name, last word given for it
  std::vector<std::string> rest;                          ///< of a command that takes_command
  bool has_mark = false;                                  ///< "--" stood before `rest`
  bool has(std::string_view name) const;
};

/// Inclusive bounds of a number.
struct Range {
  double low = 0;
  double high = 0;
};

/// A subcommand. The variables that options set live elsewhere and must outlive `run`: keep them in
/// a shared_ptr that `run` captures.
class Command {
 public:
  Command(std::string command_name, std::string one_line)
      : name(std::move(command_name)), summary(std::move(one_line)) {}

  std::string name;
  std::string summary;             ///< one line, no full stop
  std::string usage;               ///< replaces the generated usage line; without "Usage: iwarp "
  std::string notes;               ///< printed verbatim below the options
  std::vector<std::string> shown;  ///< examples: "iwarp ...", optionally two blanks and why
  std::deque<Option> options;
  std::vector<Command> commands;
  /// Everything from the first word that is not an option is passed on unparsed.
  bool takes_command = false;
  /// Runs the command and returns its exit status. Throws the exceptions of common/error.hpp.
  std::function<int(const Given&)> run;

  Option& flag(std::string names, bool& value, std::string help);
  /// Counts how often the flag is given: "-vv" is 2.
  Option& count(std::string names, unsigned& value, std::string help);
  Option& text(std::string names, std::string value_name, std::string& value, std::string help);
  /// The value of the option may be omitted; then `value` becomes "".
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
  /// A number of bytes, with K, M or G for powers of 1024.
  Option& size(std::string names, std::uint64_t& value, Range range, std::string help);
  Option& argument(std::string title, std::string& value, std::string help);
  Option& arguments(std::string title, std::vector<std::string>& value, std::string help);

  /// Adds an option that is none of these kinds.
  Option& add(Option option);

  /// The options that are declared next stand under this heading.
  void begin_group(std::string title) { group_ = std::move(title); }

 private:
  std::string group_;
};

/// Parses "4096", "64K", "1M" or "2G" (powers of 1024). Returns nullopt if `text` is not such a
/// number or exceeds 2^63.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Makes a word safe to repeat in a message: replaces unprintable characters and cuts it to fit in
/// a line.
std::string excerpt(std::string_view word);

}  // namespace iwarp::apps::cli
