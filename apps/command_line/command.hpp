// SPDX-License-Identifier: Apache-2.0
// Command: what a subcommand of iwarp is called, takes and does, as data. The parser, --help, the
// man pages and the shell completions are all made from it, so they cannot disagree. Knows no
// command-line library; parse.cpp is the only unit that does.
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

/// What a shell offers behind an option.
enum class Completion : std::uint8_t { kNothing, kFile, kDirectory };

/// One option, flag or positional argument.
struct Option {
  using Words = std::vector<std::string>;

  std::string names;       ///< "-q,--quiet"; of an argument its name in capitals, "URL"
  std::string value_name;  ///< "N"; empty: a flag, or an argument
  std::string help;        ///< one paragraph; wrapped when it is shown
  std::string group;       ///< heading in --help; empty: "Options"
  std::string default_text;
  Words choices;                    ///< the only values, if there are any
  std::vector<std::string> rivals;  ///< options that must not be given beside this one
  bool is_argument = false;
  bool is_required = false;
  bool is_repeatable = false;  ///< may be given again
  bool is_greedy = false;      ///< takes several values behind it
  bool is_value_optional = false;
  Completion completion = Completion::kNothing;
  /// Takes the words given for it. Empty: done; else what is wrong with them.
  std::function<std::string(const Words&)> take;

  bool is_flag() const { return !is_argument && value_name.empty(); }
  /// "--quiet" of "-q,--quiet".
  std::string long_name() const;

  // To be chained where the option is declared.
  Option& required();
  Option& excludes(std::string other);
  Option& completes(Completion what);
  /// May be given more than once, one value each time.
  Option& repeatable();
  /// Any number of values may follow, up to the next option.
  Option& greedy();
  /// `fault` gives "" or what is wrong with the word; asked before the value is stored.
  Option& check(std::function<std::string(const std::string&)> fault);
};

/// Which options were on the command line, and what stood behind the last of them.
struct Given {
  std::map<std::string, std::string, std::less<>> words;  ///< long name, last word given for it
  std::vector<std::string> rest;                          ///< of a command that takes_command
  bool has_mark = false;                                  ///< "--" stood before `rest`
  bool has(std::string_view name) const;
};

/// Bounds of a number, both included.
struct Range {
  double low = 0;
  double high = 0;
};

/// The values that options set live elsewhere and must outlive `run`: keep them in a shared_ptr
/// that `run` captures.
class Command {
 public:
  Command(std::string command_name, std::string one_line)
      : name(std::move(command_name)), summary(std::move(one_line)) {}

  std::string name;
  std::string summary;             ///< one line, no full stop
  std::string usage;               ///< instead of the made-up line, without "Usage: iwarp "
  std::string notes;               ///< shown behind the options, as it is
  std::vector<std::string> shown;  ///< examples, each "iwarp ..." and perhaps two blanks and why
  std::deque<Option> options;
  std::vector<Command> commands;
  bool takes_command = false;  ///< all behind the first word that is no option is left alone
  /// Exit status; throws as common/error.hpp has it.
  std::function<int(const Given&)> run;

  Option& flag(std::string names, bool& value, std::string help);
  /// How often the flag is given: "-vv" is 2.
  Option& count(std::string names, unsigned& value, std::string help);
  Option& text(std::string names, std::string value_name, std::string& value, std::string help);
  /// `value` becomes "" when the option stands alone.
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
  /// Octets, with K, M or G for powers of 1024.
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

/// "4096", "64K", "1M", "2G" (powers of 1024); nullopt: no such number, or above 2^63.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Printable, and cut to what fits in a line: for words that are repeated to the user.
std::string excerpt(std::string_view word);

}  // namespace iwarp::apps::cli
