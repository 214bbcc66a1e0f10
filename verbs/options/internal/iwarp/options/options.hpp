// SPDX-License-Identifier: Apache-2.0
// Option: a row of the table of options, with its name on the command line, its environment
// variable, its values, its setting and its help. Command lines, --help, completions, man pages and
// the settings of the drop-in libraries all use these rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "iwarp/options/settings.hpp"

namespace iwarp::options {

/// Which commands have an option.
enum class Group : std::uint8_t {
  kConnection,  ///< all commands that open a connection, and `iwarp run`
  kTls,         ///< commands that open a connection and support TLS, and `iwarp run`
  kProgram,     ///< only `iwarp run`
};

enum class Kind : std::uint8_t {
  kFlag,    ///< a text; a command line may omit the text, which then is "on"
  kWord,    ///< one of `words`
  kNumber,  ///< an integer from `low` to `high`, or one of `words`
  kText,
  kFile,  ///< a path
};

/// The values of an option, and the functions that set and show its setting. The functions in
/// values.hpp make a Value.
struct Value {
  Kind kind = Kind::kText;
  /// Placeholder in --help, such as "MS". For a kFlag, the text that may follow the option on a
  /// command line, such as "fail" in --careful=fail.
  std::string_view title;
  /// The values that are words. A kFile may also be one of these words instead of a path.
  std::span<const std::string_view> words;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::string_view expected;  ///< the form that a text must have, for example "two ports"
  /// Returns why set() refused `text`. If null, refusal() names the values.
  std::string (*why)(std::string_view text) = nullptr;
  bool is_size = false;    ///< command lines may use K, M and G for powers of 1024
  bool is_switch = false;  ///< the environment variable may be 1 or 0 instead of on or off
  /// Sets the setting. Returns false if `text` is not a value of the option.
  bool (*set)(Settings& settings, std::string_view text) = nullptr;
  std::string (*show)(const Settings& settings) = nullptr;
  /// Default for programs under `iwarp run`. If empty, the default is the one in Settings.
  std::string_view program_default;
  /// Default for programs under `iwarp run --as roce`. If empty, `program_default` applies.
  std::string_view roce_default;
  /// The program opens the file some time after its start, and may have changed its working
  /// directory by then. So `iwarp run` makes the path absolute.
  bool is_opened_late = false;
  /// The text if a command line names the option without a text; if empty, only a kFlag may be
  /// named so.
  std::string_view if_omitted;

  /// Returns whether all values are numbers.
  bool is_number() const { return kind == Kind::kNumber && words.empty(); }

  // Setters, to be chained in the declaration of an Option.
  constexpr Value of_kind(Kind other) && { return kind = other, *this; }
  constexpr Value titled(std::string_view text) && { return title = text, *this; }
  constexpr Value sizes() && { return is_size = true, *this; }
  constexpr Value in_programs(std::string_view text) && { return program_default = text, *this; }
  constexpr Value as_roce(std::string_view text) && { return roce_default = text, *this; }
  constexpr Value opened_late() && { return is_opened_late = true, *this; }
};

/// One option: a row of the table that all() returns.
struct Option {
  std::string_view names;  ///< such as "-C,--congestion"; empty if only the variable exists
  const char* variable;    ///< environment variable, such as "IWARP_CRC"
  Group group;
  Value value;
  std::string_view help;  ///< one paragraph

  /// Returns "--congestion" for "-C,--congestion".
  std::string_view long_name() const { return names.substr(names.rfind(',') + 1); }
};

/// Returns all rows, in the order of --help.
std::span<const Option> all();
/// Returns the row of an environment variable. The variable must be in the table.
const Option& find(std::string_view variable);

/// Sets the option to `text`. If `text` is not a value of the option, changes nothing and returns
/// false.
bool set(const Option& option, std::string_view text, Settings& settings);
/// Returns the value of the option in `settings`, in the form that set() accepts. Returns an empty
/// string if the option has no value, or if its value is an empty text.
std::string show(const Option& option, const Settings& settings);
/// Returns why set() refused `text` for the option: "is not one of on, off", or what is wrong with
/// a part of the text.
std::string refusal(const Option& option, std::string_view text);

/// Returns the defaults of programs under `iwarp run`. The RTR is a Write, because with rdma_cm the
/// server may send first (RFC 6581 section 4). A Send waits until a receive is posted, because
/// programs that were written for InfiniBand rely on the retries of InfiniBand.
Settings for_programs(Persona persona);

/// Returns the value of an environment variable, or null if it is not set.
using Environment = std::function<const char*(const char* variable)>;
/// Returns the settings of a program under `iwarp run`. For each variable with an invalid value,
/// keeps the default and calls `complain` with one line.
Settings from_environment(const Environment& environment,
                          const std::function<void(const std::string&)>& complain);

}  // namespace iwarp::options
