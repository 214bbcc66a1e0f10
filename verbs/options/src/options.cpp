// SPDX-License-Identifier: Apache-2.0
// Sets and shows options by means of their rows, and reads the settings of a program from its
// environment.
#include "iwarp/options/options.hpp"

#include <algorithm>
#include <cassert>

namespace iwarp::options {

const Option& find(std::string_view variable) {
  const auto rows = all();
  const auto row =
      std::ranges::find_if(rows, [&](const Option& option) { return option.variable == variable; });
  assert(row != rows.end());
  return *row;
}

bool set(const Option& option, std::string_view text, Settings& settings) {
  return option.value.set(settings, text);
}

std::string show(const Option& option, const Settings& settings) {
  return option.value.show(settings);
}

std::string refusal(const Option& option, std::string_view text) {
  const Value& value = option.value;
  if (value.why != nullptr) return "is invalid: " + value.why(text);
  if (!value.expected.empty()) return "is not " + std::string(value.expected);
  std::string names;
  for (const auto word : value.words) (names += names.empty() ? "" : ", ") += word;
  if (value.kind != Kind::kNumber) return "is not one of " + names;
  const auto range =
      "a number from " + std::to_string(value.low) + " to " + std::to_string(value.high);
  return "is not " + (names.empty() ? range : names + " or " + range);
}

Settings for_programs(Persona persona) {
  const bool is_roce = persona == Persona::kRoce;
  Settings out;
  out.persona = persona;
  out.connection.startup.send_immediate = true;
  if (is_roce) out.connection.local_errors = verbs::LocalErrors::kDepart;
  for (const Option& option : all()) {
    const bool differs = is_roce && !option.value.roce_default.empty();
    const auto text = differs ? option.value.roce_default : option.value.program_default;
    if (!text.empty()) set(option, text, out);
  }
  return out;
}

Settings from_environment(const Environment& environment,
                          const std::function<void(const std::string&)>& complain) {
  const auto said = [&](const char* variable) -> std::string_view {
    const char* text = environment(variable);
    return text != nullptr ? text : "";
  };
  // The persona is set first, because the defaults of the other options depend on it.
  Settings chosen;
  set(find("IWARP_AS"), said("IWARP_AS"), chosen);
  set(find("IWARP_LIKE"), said("IWARP_LIKE"), chosen);
  Settings out = for_programs(chosen.persona);
  for (const Option& option : all()) {
    const auto text = said(option.variable);
    if (text.empty()) continue;
    auto word = text;
    if (option.value.is_switch && text == "1") word = "on";
    if (option.value.is_switch && text == "0") word = "off";
    if (set(option, word, out)) continue;
    complain(std::string(option.variable) + "=" + std::string(text) + " " + refusal(option, word) +
             "; the variable is ignored");
  }
  // MPA revision 1 has no RTR.
  if (out.connection.startup.revision == 1) out.connection.startup.rtr = mpa::Rtr::kNone;
  return out;
}

}  // namespace iwarp::options
