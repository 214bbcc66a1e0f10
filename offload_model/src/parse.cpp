// SPDX-License-Identifier: Apache-2.0
// Reads parameter sets. Every error message names the key and its unit, so that the user can
// correct the file. If a key is missing, its value comes from the base; without a base, this is an
// error. A missing value never becomes zero.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "iwarp/bytes/parse_json.hpp"
#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

namespace {

using Json = nlohmann::ordered_json;
using Complaint = std::unexpected<std::string>;

Complaint complain(const Field& field, std::string_view what) {
  const auto unit = field.unit == "1" ? "" : fmt::format(", in {}", field.unit);
  return Complaint(fmt::format("parameter {} ({}{}): {}", field.key, field.meaning, unit, what));
}

std::expected<double, std::string> number_of(const Field& field, const Json& entry,
                                             const char* name) {
  if (!entry.contains(name)) return complain(field, fmt::format("\"{}\" is missing", name));
  if (!entry[name].is_number()) return complain(field, fmt::format("\"{}\" is not a number", name));
  const auto number = entry[name].get<double>();
  if (!std::isfinite(number) || number < 0) {
    return complain(field,
                    fmt::format("\"{}\" is {}, but must be finite and not negative", name, number));
  }
  return number;
}

std::expected<std::string, std::string> text_of(const Field& field, const Json& entry,
                                                const char* name) {
  if (!entry.contains(name) || !entry[name].is_string()) {
    return complain(field, fmt::format("\"{}\" is missing or not a string", name));
  }
  return entry[name].get<std::string>();
}

/// The marks for the quality of a source; README.md says what they mean.
bool is_mark(std::string_view text) {
  constexpr std::array<std::string_view, 10> kMarks{"V",   "V2", "M+", "M",   "X",
                                                    "cal", "mb", "g",  "def", "preset"};
  return std::ranges::find(kMarks, text) != kMarks.end();
}

std::expected<Value, std::string> value_of(const Field& field, const Json& entry) {
  if (!entry.is_object())
    return complain(
        field,
        "must be an object with \"value\", \"unit\", \"uncertainty\", \"mark\" and \"source\"");
  Value out;
  const auto unit = text_of(field, entry, "unit");
  if (!unit) return Complaint(unit.error());
  if (*unit != field.unit)
    return complain(field,
                    fmt::format("\"unit\" is \"{}\", but must be \"{}\"", *unit, field.unit));
  const auto value = number_of(field, entry, "value");
  if (!value) return Complaint(value.error());
  if (*value == 0 && !field.may_be_zero) return complain(field, "must not be 0");
  const auto uncertainty = number_of(field, entry, "uncertainty");
  if (!uncertainty) return Complaint(uncertainty.error());
  const auto mark = text_of(field, entry, "mark");
  if (!mark) return Complaint(mark.error());
  if (!is_mark(*mark)) return complain(field, fmt::format("unknown source mark \"{}\"", *mark));
  const auto source = text_of(field, entry, "source");
  if (!source) return Complaint(source.error());
  return Value{*value, *uncertainty, *mark, *source};
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

std::expected<void, std::string> read_values(const Json& given, const ParameterSet* base,
                                             ParameterSet& out) {
  for (const auto& item : given.items()) {
    if (find_field(item.key()) == nullptr) {
      return Complaint("unknown parameter " + item.key());
    }
  }
  if (!out.base.empty()) {
    auto from = preset(out.base);
    if (!from) return Complaint(from.error());
    out.values = std::move(from->values);
  }
  for (const auto& field : fields()) {
    const std::string key(field.key);
    if (given.contains(key)) {
      const auto value = value_of(field, given[key]);
      if (!value) return Complaint(value.error());
      out.values[key] = *value;
    } else if (base != nullptr) {
      out.values[key] = filled(base->values.at(key), base->name);
      out.filled.push_back(fmt::format("{} ({})", key, field.unit));
    } else if (!out.values.contains(key)) {
      return complain(field, "is missing");
    }
  }
  return {};
}

}  // namespace

std::expected<ParameterSet, std::string> parse_parameters(std::string_view json,
                                                          const ParameterSet* base) {
  const auto parsed = bytes::parse_json<Json>(json);
  if (!parsed) return Complaint(parsed.error());
  const Json& root = *parsed;
  if (!root.is_object() || !root.contains("parameters") || !root["parameters"].is_object()) {
    return Complaint("\"parameters\" is missing or not an object");
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
  if (const auto read = read_values(root["parameters"], base, out); !read) {
    return Complaint(read.error());
  }
  return out;
}

}  // namespace iwarp::offload_model
