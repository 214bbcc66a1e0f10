// SPDX-License-Identifier: Apache-2.0
// One row for each option: its name on the command line, its variable in the environment, the
// values it takes, what it sets and how it is explained. Command lines, --help, completions, man
// pages and the environment of the drop-in libraries are all made from these rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "iwarp/options/settings.hpp"

namespace iwarp::options {

/// Which commands take an option.
enum class Group : std::uint8_t {
  kConnection,  ///< all that open a connection, and `iwarp run`
  kTls,         ///< those among them that support TLS, and `iwarp run`
  kProgram,     ///< `iwarp run`
};

enum class Kind : std::uint8_t {
  kFlag,    ///< stands alone on a command line and means "on"
  kWord,    ///< one of `words`
  kNumber,  ///< from `low` to `high`, or one of `words`
  kText,
  kFile,  ///< a path
};

/// The values of an option, and the setting that they are for. Made in table.cpp.
struct Value {
  Kind kind = Kind::kText;
  /// In --help: "MS". Of a kFlag: what may follow on a command line, as in --careful=fail.
  std::string_view title;
  std::span<const std::string_view> words;  ///< values that have a name
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::string_view expected;  ///< of a text that has a form: what that is, as in "two ports"
  bool is_size = false;       ///< command lines may use K, M and G for powers of 1024
  bool is_switch = false;     ///< the environment may say 1 and 0 for on and off
  bool (*set)(Settings& settings, std::string_view text) = nullptr;  ///< false: no such value
  std::string (*show)(const Settings& settings) = nullptr;
  /// Defaults of programs under `iwarp run`, and of those that see RoCE; empty: as in Settings.
  std::string_view program_default;
  std::string_view roce_default;
  /// The program may change its folder before it opens the file, so `iwarp run` makes the path
  /// absolute.
  bool is_opened_late = false;

  /// Returns whether all values are numbers.
  bool is_number() const { return kind == Kind::kNumber && words.empty(); }

  // To be chained where the row is declared.
  constexpr Value of_kind(Kind other) && { return kind = other, *this; }
  constexpr Value titled(std::string_view text) && { return title = text, *this; }
  constexpr Value sizes() && { return is_size = true, *this; }
  constexpr Value in_programs(std::string_view text) && { return program_default = text, *this; }
  constexpr Value as_roce(std::string_view text) && { return roce_default = text, *this; }
  constexpr Value opened_late() && { return is_opened_late = true, *this; }
};

/// A row of the table.
struct Option {
  std::string_view names;  ///< "--crc", "-C,--congestion"; empty: a variable without an option
  const char* variable;    ///< "IWARP_CRC"
  Group group;
  Value value;
  std::string_view help;  ///< one paragraph

  /// Returns "--congestion" for "-C,--congestion".
  std::string_view long_name() const { return names.substr(names.rfind(',') + 1); }
};

/// Returns all rows, in the order of --help.
std::span<const Option> all();
/// Returns the row of a variable, which must be one.
const Option& find(std::string_view variable);

/// Sets what `text` says. Returns false, and changes nothing, if it is no value of the option.
bool set(const Option& option, std::string_view text, Settings& settings);
/// Returns the value in `settings` as set() takes it. Empty: not set, or a text that is empty.
std::string show(const Option& option, const Settings& settings);
/// Returns what is wrong with a text that set() refuses: "not one of on, off".
std::string refusal(const Option& option);

/// Returns the defaults of programs under `iwarp run`. RTR is by Write, because under rdma_cm the
/// server may speak first (RFC 6581 section 4), and a Send without a receive waits, because
/// programs written for InfiniBand rely on its retries.
Settings for_programs(Persona persona);

/// Returns the value of a variable; null if it is not set.
using Environment = std::function<const char*(const char* variable)>;
/// Returns the settings of a program under `iwarp run`. `complain` gets one line for each variable
/// whose value makes no sense; its default holds.
Settings from_environment(const Environment& environment,
                          const std::function<void(const std::string&)>& complain);

}  // namespace iwarp::options
