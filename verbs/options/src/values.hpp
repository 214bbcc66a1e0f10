// SPDX-License-Identifier: Apache-2.0
// Functions that make the Value of a row of the table. Each function makes a Value for one setting,
// which the template parameter `At` selects: a member of Settings or of its parts, or a function
// that returns the setting from Settings.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "iwarp/options/options.hpp"

namespace iwarp::options {

template <typename S, typename T>
auto& at(S& settings, T Settings::* member) {
  return settings.*member;
}
template <typename S, typename T>
auto& at(S& settings, T TlsSettings::* member) {
  return settings.tls.*member;
}
template <typename S, typename T>
auto& at(S& settings, T verbs::ConnectionOptions::* member) {
  return settings.connection.*member;
}
template <typename S, typename T>
auto& at(S& settings, T mpa::StartupOptions::* member) {
  return settings.connection.startup.*member;
}
template <typename S, typename F>
  requires std::is_invocable_v<F, S&>
auto at(S& settings, F function) {
  return function(settings);
}

template <typename T>
struct Word {
  std::string_view name;
  T value;
};
using NumberWord = Word<std::uint64_t>;

inline constexpr std::array<NumberWord, 0> kNoWords{};
inline constexpr std::array kOnOff{Word{"on", true}, Word{"off", false}};

/// The names in `Words`, an array of Word.
template <const auto& Words>
inline constexpr auto kNames = [] {
  std::array<std::string_view, std::size(Words)> out;
  std::ranges::transform(Words, out.begin(), [](const auto& word) { return word.name; });
  return out;
}();

inline std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t low,
                                                 std::uint64_t high,
                                                 std::span<const NumberWord> words = {}) {
  for (const auto& word : words) {
    if (word.name == text) return word.value;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  if (!is_whole || value < low || value > high) return std::nullopt;
  return value;
}

/// Makes a value that is one of `Words`. If several words have the same value, show() returns the
/// first of them.
template <const auto& Words, auto At>
constexpr Value one_of() {
  return {.kind = Kind::kWord,
          .words = kNames<Words>,
          .is_switch = std::ranges::equal(kNames<Words>, kNames<kOnOff>),
          .set =
              [](Settings& settings, std::string_view text) {
                for (const auto& [name, value] : Words) {
                  if (name != text) continue;
                  at(settings, At) = value;
                  return true;
                }
                return false;
              },
          .show =
              [](const Settings& settings) {
                for (const auto& [name, value] : Words) {
                  if (at(settings, At) == value) return std::string(name);
                }
                return std::string();
              }};
}

/// Makes a value that is an integer from `Low` to `High`, or one of `Words`, each of which stands
/// for an integer. The setting is a number, an optional number, or a duration in `Unit`.
template <auto At, std::uint64_t Low, std::uint64_t High, typename Unit = std::uint64_t,
          const auto& Words = kNoWords>
constexpr Value number(std::string_view title) {
  return {.kind = Kind::kNumber,
          .title = title,
          .words = kNames<Words>,
          .low = Low,
          .high = High,
          .set =
              [](Settings& settings, std::string_view text) {
                const auto parsed = parse_number(text, Low, High, Words);
                auto& setting = at(settings, At);
                using Setting = std::remove_reference_t<decltype(setting)>;
                if (parsed) setting = static_cast<Setting>(Unit(*parsed));
                return parsed.has_value();
              },
          .show =
              [](const Settings& settings) {
                std::optional<std::uint64_t> now;
                if constexpr (std::is_integral_v<Unit>) {
                  now = at(settings, At);
                } else {
                  now = std::chrono::duration_cast<Unit>(at(settings, At)).count();
                }
                for (const auto& word : Words) {
                  if (now == word.value) return std::string(word.name);
                }
                return now ? std::to_string(*now) : std::string();
              }};
}

template <auto At>
constexpr Value text(std::string_view title) {
  return {.title = title,
          .set =
              [](Settings& settings, std::string_view value) {
                at(settings, At) = value;
                return true;
              },
          .show = [](const Settings& settings) { return at(settings, At); }};
}

template <auto At>
constexpr Value file(std::string_view title = "FILE") {
  return text<At>(title).of_kind(Kind::kFile);
}

}  // namespace iwarp::options
