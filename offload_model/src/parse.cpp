// SPDX-License-Identifier: Apache-2.0
// Reads parameter sets. Every error message names the key and its unit, so that the user can
// correct the file. If a key is missing, its value comes from the base; without a base, this is an
// error. A missing value never becomes zero.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "iwarp/bytes/parse_json.hpp"
#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

namespace {

using Json = nlohmann::ordered_json;

/// An error in a file, in words.
struct Complaint : std::runtime_error {
  using runtime_error::runtime_error;
};

[[noreturn]] void complain(const Field& field, std::string_view what) {
  const auto unit = field.unit == "1" ? "" : fmt::format(", in {}", field.unit);
  throw Complaint(fmt::format("parameter {} ({}{}): {}", field.key, field.meaning, unit, what));
}

double number_of(const Field& field, const Json& entry, const char* name) {
  if (!entry.contains(name)) complain(field, fmt::format("\"{}\" is missing", name));
  if (!entry[name].is_number()) complain(field, fmt::format("\"{}\" is not a number", name));
  const auto number = entry[name].get<double>();
  if (!std::isfinite(number) || number < 0) {
    complain(field, fmt::format("\"{}\" is {}, but must be finite and not negative", name, number));
  }
  return number;
}

std::string text_of(const Field& field, const Json& entry, const char* name) {
  if (!entry.contains(name) || !entry[name].is_string()) {
    complain(field, fmt::format("\"{}\" is missing or not a string", name));
  }
  return entry[name].get<std::string>();
}

/// The marks for the quality of a source; README.md says what they mean.
bool is_mark(std::string_view text) {
  constexpr std::array<std::string_view, 10> kMarks{"V",   "V2", "M+", "M",   "X",
                                                    "cal", "mb", "g",  "def", "preset"};
  return std::ranges::find(kMarks, text) != kMarks.end();
}

Value value_of(const Field& field, const Json& entry) {
  if (!entry.is_object())
    complain(
        field,
        "must be an object with \"value\", \"unit\", \"uncertainty\", \"mark\" and \"source\"");
  const auto unit = text_of(field, entry, "unit");
  if (unit != field.unit)
    complain(field, fmt::format("\"unit\" is \"{}\", but must be \"{}\"", unit, field.unit));
  const auto value = number_of(field, entry, "value");
  if (value == 0 && !field.may_be_zero) complain(field, "must not be 0");
  const auto uncertainty = number_of(field, entry, "uncertainty");
  const auto mark = text_of(field, entry, "mark");
  if (!is_mark(mark)) complain(field, fmt::format("unknown source mark \"{}\"", mark));
  return {value, uncertainty, mark, text_of(field, entry, "source")};
}

Value filled(const Value& from, const std::string& base) {
  Value out = from;
  out.mark = "preset";
  out.source = "preset " + base + ": " + from.source;
  return out;
}

std::string optional_text(const Json& root, const char* name) {
  return root.contains(name) && root[name].is_string() ? root[name].get<std::string>() : "";
}

void read_values(const Json& given, const ParameterSet* base, ParameterSet& out) {
  for (const auto& item : given.items()) {
    if (find_field(item.key()) == nullptr) throw Complaint("unknown parameter " + item.key());
  }
  if (!out.base.empty()) {
    auto from = preset(out.base);
    if (!from) throw Complaint(from.error());
    out.values = std::move(from->values);
  }
  for (const auto& field : fields()) {
    const std::string key(field.key);
    if (given.contains(key)) {
      out.values[key] = value_of(field, given[key]);
    } else if (base != nullptr) {
      out.values[key] = filled(base->values.at(key), base->name);
      out.filled.push_back(fmt::format("{} ({})", key, field.unit));
    } else if (!out.values.contains(key)) {
      complain(field, "is missing");
    }
  }
}

}  // namespace

std::expected<ParameterSet, std::string> parse_parameters(std::string_view json,
                                                          const ParameterSet* base) try {
  const auto parsed = bytes::parse_json<Json>(json);
  if (!parsed) throw Complaint(parsed.error());
  const Json& root = *parsed;
  if (!root.is_object() || !root.contains("parameters") || !root["parameters"].is_object()) {
    throw Complaint("\"parameters\" is missing or not an object");
  }
  ParameterSet out;
  out.name = optional_text(root, "name");
  out.title = optional_text(root, "title");
  out.note = optional_text(root, "note");
  if (base == nullptr) out.base = optional_text(root, "base");
  if (root.contains("machine") && root["machine"].is_object()) {
    for (const auto& item : root["machine"].items()) {
      const auto& value = item.value();
      out.machine.emplace_back(item.key(),
                               value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  read_values(root["parameters"], base, out);
  return out;
} catch (const Complaint& complaint) {
  return std::unexpected(std::string(complaint.what()));
}

}  // namespace iwarp::offload_model
