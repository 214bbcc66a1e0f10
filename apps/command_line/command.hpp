// SPDX-License-Identifier: Apache-2.0
// Command: the name, the options and the action of a subcommand, as data. The parser, --help, the
// man pages and the shell completions are all generated from it, so that they agree. It does not
// depend on the command-line library: only parse.cpp includes CLI11.
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

/// What a shell offers to complete the value of an option.
enum class Completion : std::uint8_t { kNothing, kFile, kDirectory };

/// One option, flag or positional argument.
struct Option {
  using Words = std::vector<std::string>;

  std::string names;       ///< "-q,--quiet", or for an argument its name in capitals, such as "URL"
  std::string value_name;  ///< name of the value, such as "N"; empty for a flag or an argument
  std::string help;        ///< one paragraph, which is wrapped when printed
  std::string group;       ///< heading in --help; empty means "Options"
  std::string default_text;
  Words choices;                    ///< the only valid values; empty if any value is valid
  std::vector<std::string> rivals;  ///< options that cannot be combined with this one
  bool is_argument = false;
  bool is_required = false;
  bool is_repeatable = false;  ///< whether it may be given more than once
  bool is_greedy = false;      ///< whether it takes all values that follow it
  bool is_value_optional = false;
  Completion completion = Completion::kNothing;
  /// Stores the words that were given for the option. Returns what is wrong with them, or an empty
  /// text.
  std::function<std::string(const Words&)> take;

  bool is_flag() const { return !is_argument && value_name.empty(); }
  /// Returns the long spelling: "--quiet" of "-q,--quiet".
  std::string long_name() const;

  // Each of the following setters returns the option, so that calls can be chained.
  Option& required();
  Option& excludes(std::string other);
  Option& completes(Completion what);
  /// Lets the option be given more than once, with one value each time.
  Option& repeatable();
  /// Lets any number of values follow, up to the next option.
  Option& greedy();
  /// Adds a check of each word before its value is stored. `fault` returns what is wrong with the
  /// word, or "".
  Option& check(std::function<std::string(const std::string&)> fault);
};

/// The options that were on the command line, and the words that follow the last of them.
struct Given {
  /// The last word given for each option, by the option's long name.
  std::map<std::string, std::string, std::less<>> words;
  /// For a command with takes_command: the words that were not parsed.
  std::vector<std::string> rest;
  bool has_mark = false;  ///< whether "--" preceded `rest`
  bool has(std::string_view name) const;
};

/// Inclusive bounds of a number.
struct Range {
  double low = 0;
  double high = 0;
};

/// A subcommand. Its options store their values in variables outside of this object, which must
/// outlive `run`: keep them in a shared_ptr that `run` captures.
class Command {
 public:
  Command(std::string command_name, std::string one_line)
      : name(std::move(command_name)), summary(std::move(one_line)) {}

  std::string name;
  std::string summary;  ///< one line, without a full stop
  std::string usage;    ///< replaces the generated usage line; begins after "Usage: iwarp "
  std::string notes;    ///< text that is printed verbatim below the options
  /// examples: "iwarp ...", optionally followed by two blanks and an explanation.
  std::vector<std::string> shown;
  std::deque<Option> options;
  std::vector<Command> commands;
  /// Whether the first word that is not an option, and all words after it, are passed on unparsed.
  bool takes_command = false;
  /// Runs the command and returns its exit status. Throws the exceptions of common/error.hpp.
  std::function<int(const Given&)> run;

  Option& flag(std::string names, bool& value, std::string help);
  /// Adds a flag whose `value` is the number of times that it is given: 2 for "-vv".
  Option& count(std::string names, unsigned& value, std::string help);
  Option& text(std::string names, std::string value_name, std::string& value, std::string help);
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

  /// Adds an option of any other kind.
  Option& add(Option option);

  /// Puts the options that are declared from now on under this heading.
  void begin_group(std::string title) { group_ = std::move(title); }

 private:
  std::string group_;
};

/// Parses "4096", "64K", "1M" or "2G" (powers of 1024). Returns nullopt if `text` is not such a
/// number or exceeds 2^63.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Makes a word safe to quote in a message: replaces unprintable characters, and truncates it to
/// fit in a line.
std::string excerpt(std::string_view word);

}  // namespace iwarp::apps::cli
