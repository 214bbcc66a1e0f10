// SPDX-License-Identifier: Apache-2.0
// Tests every row of the table of options. An option must have the same effect, and refuse the same
// values, under `iwarp run`, in a command, and as a variable.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "command_line/parse.hpp"
#include "commands.hpp"
#include "common/connection/options.hpp"
#include "run/variables.hpp"

namespace {

using namespace iwarp;
using namespace iwarp::apps;
using options::Group, options::Kind, options::Option, options::Settings;

/// Returns the rows that have not only an environment variable but also an option of `iwarp run`.
std::vector<const Option*> rows() {
  std::vector<const Option*> out;
  for (const auto& option : options::all()) {
    if (!option.names.empty()) out.push_back(&option);
  }
  return out;
}

/// Returns valid values of an option: all words of a list, or the bounds of a range.
std::vector<std::string> good(const Option& option) {
  static const std::map<std::string_view, std::string> kForms{{"IWARP_CONGESTION", "reno"},
                                                              {"IWARP_PORT_RANGE", "20000-20999"},
                                                              {"IWARP_ADVERSARY", "7,late,wire"},
                                                              {"IWARP_METRICS", "unix:/x"},
                                                              {"IWARP_LIKE", "mana"},
                                                              {"IWARP_DEVICE", "rxe0=lo,b-1"}};
  const options::Value& value = option.value;
  if (value.kind == Kind::kFlag) return {"on"};
  std::vector<std::string> out(value.words.begin(), value.words.end());
  if (value.kind == Kind::kNumber) {
    out.push_back(std::to_string(value.low));
    out.push_back(std::to_string(value.high));
  } else if (value.kind != Kind::kWord) {
    const auto form = kForms.find(option.variable);
    out.push_back(form != kForms.end() ? form->second : "/x");
  }
  return out;
}

/// Returns values that are invalid on every system.
std::vector<std::string> bad(const Option& option) {
  const options::Value& value = option.value;
  if (value.kind == Kind::kWord) return {"nonsense", "On", " "};
  if (std::string_view(option.variable) == "IWARP_PORT_RANGE")
    return {"7", "9-8", "0-8", "1-65536"};
  if (std::string_view(option.variable) == "IWARP_LIKE") return {"mlx9", "/nonexistent/card.json"};
  if (std::string_view(option.variable) == "IWARP_DEVICE") {
    return {"a/b", "rxe0,rxe0", "rxe0=", ",", "..", "a b"};
  }
  if (value.kind != Kind::kNumber) return {};
  std::vector<std::string> out{"-1", "1k", "x", "99999999999999999999"};
  if (value.low > 0) out.push_back(std::to_string(value.low - 1));
  if (value.high < UINT64_MAX) out.push_back(std::to_string(value.high + 1));
  return out;
}

std::vector<std::string> words_of(const Option& option, const std::string& value) {
  const std::string name(option.long_name());
  if (option.value.kind == Kind::kFlag) return {name};
  if (!option.value.if_omitted.empty()) return {name + "=" + value};
  return {name, value};
}

std::expected<cli::Invocation, cli::Misuse> parse(const cli::Command& command,
                                                  const std::vector<std::string>& words) {
  std::vector<const char*> all{"test"};
  for (const auto& word : words) all.push_back(word.c_str());
  return cli::parse(command, static_cast<int>(all.size()), all.data());
}

/// Returns the settings of a program that `iwarp run` starts with the options `words`.
Settings in_program(const std::vector<std::string>& words) {
  const auto command = run_command();
  const auto parsed = parse(command, words);
  REQUIRE_MESSAGE(parsed, parsed.error().text);
  const auto variables = variables_of(parsed->given);
  return options::from_environment(
      [&](const char* name) -> const char* {
        const auto found = std::ranges::find(variables, name, &Variable::name);
        return found != variables.end() ? found->value.c_str() : nullptr;
      },
      [](const std::string& line) { FAIL_CHECK(line); });
}

/// Returns the settings of a command that has all options and is called with `words`.
Settings in_command(const std::vector<std::string>& words) {
  cli::Command command("test", "For a test");
  Settings out;
  for (const auto group : {Group::kConnection, Group::kTls, Group::kProgram}) {
    add_options(command, group, out);
  }
  command.run = [](const cli::Given&) { return 0; };
  const auto parsed = parse(command, words);
  REQUIRE_MESSAGE(parsed, parsed.error().text);
  return out;
}

/// Returns whether the option `changed` may also change the value of `row`.
bool follows(const Option& row, const Option& changed) {
  const std::string_view name = row.variable;
  return &row == &changed ||
         (name == "IWARP_RTR" && changed.variable == std::string("IWARP_MPA_REV")) ||
         (name == "IWARP_TLS" && changed.group == Group::kTls);
}

TEST_CASE("an option of iwarp run sets the same values as its variable, and nothing else") {
  for (const Option* option : rows()) {
    for (const auto& value : good(*option)) {
      INFO(std::string(option->variable), ", value ", value);
      const auto settings = in_program(words_of(*option, value));
      Settings wanted;
      REQUIRE(options::set(*option, value, wanted));
      CHECK(options::show(*option, settings) == options::show(*option, wanted));
      const auto defaults = options::for_programs(settings.persona);
      for (const Option& other : options::all()) {
        if (follows(other, *option)) continue;
        CAPTURE(std::string(other.variable));
        CHECK(options::show(other, settings) == options::show(other, defaults));
      }
    }
  }
}

TEST_CASE("an option of iwarp run has the same effect in every other command that has it") {
  for (const Option* option : rows()) {
    for (const auto& value : good(*option)) {
      INFO(std::string(option->variable), ", value ", value);
      const auto words = words_of(*option, value);
      CHECK(options::show(*option, in_command(words)) == options::show(*option, in_program(words)));
    }
  }
}

TEST_CASE("an option accepts the values that it displays, with the same meaning") {
  for (const Option& option : options::all()) {
    CAPTURE(std::string(option.variable));
    for (const auto& value : good(option)) {
      Settings first;
      Settings second;
      REQUIRE(options::set(option, value, first));
      const auto shown = options::show(option, first);
      CHECK_FALSE(shown.empty());
      CHECK(options::set(option, shown, second));
      CHECK(options::show(option, second) == shown);
    }
  }
}

TEST_CASE("invalid values are refused with the same message for option and variable") {
  const auto command = run_command();
  for (const Option* option : rows()) {
    for (const auto& value : bad(*option)) {
      INFO(std::string(option->variable), ", value ", value);
      const std::string name(option->long_name());
      const auto why = options::refusal(*option, value);
      const auto parsed = parse(command, {name + "=" + value, "true"});
      REQUIRE_FALSE(parsed);
      CHECK(parsed.error().text == name + ": \"" + value + "\" " + why);
      std::vector<std::string> complaints;
      const auto settings = options::from_environment(
          [&](const char* variable) {
            return variable == std::string_view(option->variable) ? value.c_str() : nullptr;
          },
          [&](const std::string& line) { complaints.push_back(line); });
      REQUIRE(complaints.size() == 1);
      CHECK(complaints[0] ==
            option->variable + ("=" + value + " " + why) + "; the variable is ignored");
      const auto defaults = options::for_programs(options::Persona::kIwarp);
      CHECK(options::show(*option, settings) == options::show(*option, defaults));
    }
  }
}

TEST_CASE("a variable has the same name as its option") {
  for (const Option* option : rows()) {
    std::string name(option->long_name().substr(2));
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
    CHECK(option->variable == "IWARP_" + name);
  }
}

}  // namespace
