// SPDX-License-Identifier: Apache-2.0
// A table with one row per setting.
#include "lab/settings.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <span>

namespace iwarp::apps::lab {
namespace {

constexpr std::array<std::string_view, 4> kEnds{"none", "a", "b", "both"};
constexpr std::array<std::string_view, 4> kRtrs{"none", "write", "read", "send"};

/// A setting is either a number in a range or one of several names. The value of a name is its
/// index in the list of names.
struct Row {
  std::string_view name;
  std::span<const std::string_view> values;
  std::uint32_t least, most;
  std::uint32_t (*get)(const Settings&);
  void (*set)(Settings&, std::uint32_t);
};

template <auto Member>
constexpr Row row(std::string_view name, std::span<const std::string_view> values,
                  std::uint32_t least, std::uint32_t most) {
  return {name,
          values,
          least,
          most,
          [](const Settings& s) { return static_cast<std::uint32_t>(s.*Member); },
          [](Settings& s, std::uint32_t value) {
            s.*Member = static_cast<std::remove_reference_t<decltype(s.*Member)>>(value);
          }};
}

constexpr std::array kRows{
    row<&Settings::seed>("seed", {}, 0, UINT32_MAX),
    row<&Settings::revision>("revision", {}, 1, 2),
    row<&Settings::crc>("crc", kEnds, 0, 3),
    row<&Settings::markers>("markers", kEnds, 0, 3),
    row<&Settings::rtr>("rtr", kRtrs, 0, 3),
    row<&Settings::ulpdu>("ulpdu", {}, 0, 4096),
    row<&Settings::receives>("receives", {}, 0, 8),
};

std::optional<std::uint32_t> value_of(const Row& row, std::string_view text) {
  for (std::uint32_t i = 0; i < row.values.size(); ++i) {
    if (row.values[i] == text) return i;
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!row.values.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  if (value < row.least || value > row.most) return std::nullopt;
  return value;
}

bool asks(Ends who, Side end) {
  const auto bits = static_cast<unsigned>(who);
  return (bits & (end == Side::kNear ? 1U : 2U)) != 0;
}

}  // namespace

std::expected<void, std::string> set(Settings& settings, std::string_view word) {
  const auto equals = word.find('=');
  for (const auto& row : kRows) {
    if (equals == std::string_view::npos || row.name != word.substr(0, equals)) continue;
    const auto value = value_of(row, word.substr(equals + 1));
    if (!value) break;
    row.set(settings, *value);
    return {};
  }
  return std::unexpected(fmt::format("invalid setting \"{}\"", word.substr(0, 40)));
}

std::string to_words(const Settings& settings) {
  std::string text;
  for (const auto& row : kRows) {
    const auto value = row.get(settings);
    text += text.empty() ? "" : "+";
    text += row.values.empty() ? fmt::format("{}={}", row.name, value)
                               : fmt::format("{}={}", row.name, row.values[value]);
  }
  return text;
}

verbs::ConnectionOptions options_of(const Settings& settings, Side end) {
  // Let the connection build only one FPDU at a time, so that pump() sends each FPDU in a separate
  // segment.
  constexpr std::size_t kOneFpdu = 1;
  verbs::ConnectionOptions options;
  options.startup.revision =
      end == Side::kNear ? static_cast<std::uint8_t>(settings.revision) : std::uint8_t{2};
  options.startup.crc = asks(settings.crc, end);
  options.startup.markers = asks(settings.markers, end);
  options.startup.rtr = end == Side::kNear ? settings.rtr : mpa::Rtr::kNone;
  options.max_ulpdu = settings.ulpdu;
  options.transmit_batch = kOneFpdu;
  return options;
}

}  // namespace iwarp::apps::lab
