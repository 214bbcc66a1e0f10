// SPDX-License-Identifier: Apache-2.0
// Tests that presets are complete and that each value names its source. Also tests that an invalid
// file is refused with a message that names the key and the unit.
#include "iwarp/offload_model/parameters.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "iwarp/bytes/parse_json.hpp"

using namespace iwarp::offload_model;

namespace {

std::string error_of(std::string_view json) {
  const auto base = preset("100g").value();
  const auto parsed = parse_parameters(json, &base);
  return parsed ? "" : parsed.error();
}

std::string file_with(std::string_view parameters) {
  return R"({"name": "x", "parameters": {)" + std::string(parameters) + "}}";
}

}  // namespace

TEST_CASE("every preset is complete, and every value has a unit, a mark and a source") {
  CHECK(preset_names() ==
        std::vector<std::string>{"2003", "2005", "2007", "2009", "2013", "100g", "2022", "2026"});
  for (const auto& name : preset_names()) {
    CAPTURE(name);
    const auto set = preset(name);
    REQUIRE_MESSAGE(set.has_value(), (set ? "" : set.error()));
    CHECK(set->name == name);
    CHECK(set->filled.empty());
    CHECK(set->values.size() == fields().size());
    for (const auto& [key, value] : set->values) {
      CAPTURE(key);
      CHECK_FALSE(value.source.empty());
      // A value is exact only if it is a definition.
      CHECK((value.uncertainty == 0) == (value.mark == "def"));
      // Guesses of the first 100g preset were wrong by factors of 1.3 to 5 when sources were found.
      if (value.mark == "g") CHECK(value.uncertainty >= 1);
    }
  }
}

TEST_CASE("times are in nanoseconds after resolving") {
  const auto set = preset("2003").value();
  const auto p = set.resolve();
  CHECK(p.interrupt == doctest::Approx(set.at("interrupt") * 1000));
  CHECK(p.copy_rx == set.at("copy_rx"));
  CHECK(p.link == set.at("link"));
}

TEST_CASE("an unknown preset is refused with the list of names") {
  const auto none = preset("1999");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().contains("1999"));
  CHECK(none.error().contains("2003, 2005, 2007, 2009, 2013, 100g, 2022, 2026"));
  CHECK_FALSE(preset("published").has_value());
}

TEST_CASE("invalid files are refused with the key and the unit") {
  CHECK(error_of("not json").contains("not JSON"));
  CHECK(error_of("{}").contains("parameters"));
  CHECK(error_of(R"({"parameters": 7})").contains("parameters"));
  const auto deep = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK(error_of(R"({"parameters": {}, "machine": {"a": )" + deep + "}}").contains("too deep"));
  CHECK(error_of(file_with(R"("speed": {})")).contains("unknown parameter speed"));
  const auto ack = [](std::string_view rest) {
    return error_of(file_with(R"("ack": )" + std::string(rest)));
  };
  CHECK(ack("1.5").contains("ack (processing one acknowledgement at the sender, in us)"));
  CHECK(ack(R"({"value": 1})").contains("\"unit\" is missing"));
  CHECK(ack(R"({"value": 1, "unit": "ns"})").contains("\"unit\" is \"ns\", but must be \"us\""));
  CHECK(ack(R"({"unit": "us"})").contains("\"value\" is missing"));
  CHECK(ack(R"({"value": "1", "unit": "us"})").contains("not a number"));
  CHECK(ack(R"({"value": -1, "unit": "us"})").contains("negative"));
  CHECK(ack(R"({"value": 1e999, "unit": "us"})").contains("not JSON"));
  CHECK(ack(R"({"value": 1, "unit": "us"})").contains("uncertainty"));
  CHECK(ack(R"({"value": 1, "unit": "us", "uncertainty": 0, "mark": "?"})")
            .contains("unknown source mark"));
  CHECK(ack(R"({"value": 1, "unit": "us", "uncertainty": 0, "mark": "X"})").contains("source"));
  CHECK(error_of(file_with(R"("mss": {"value": 0, "unit": "octets"})")).contains("not be 0"));
}

TEST_CASE("a value that a measured host lacks comes from the preset, marked so, never as zero") {
  const auto base = preset("100g").value();
  const auto set = parse_parameters(
      file_with(
          R"("crc": {"value": 0.1, "unit": "ns/octet", "uncertainty": 0.1, "mark": "X", "source": "here"})"),
      &base);
  REQUIRE_MESSAGE(set.has_value(), (set ? "" : set.error()));
  CHECK(set->at("crc") == 0.1);
  CHECK(set->values.at("crc").mark == "X");
  CHECK(set->at("packet_rx") == base.at("packet_rx"));
  CHECK(set->values.at("packet_rx").mark == "preset");
  CHECK(set->values.at("packet_rx").source.contains("preset 100g"));
  CHECK(set->filled.size() == fields().size() - 1);
  CHECK(std::ranges::find(set->filled, "packet_rx (us)") != set->filled.end());
  CHECK_FALSE(parse_parameters(file_with("")).has_value());
}

TEST_CASE("a host's description is kept as text") {
  const auto base = preset("100g").value();
  const auto set = parse_parameters(
      R"({"machine": {"kernel": "6.1", "virtualised": true}, "parameters": {}})", &base);
  REQUIRE(set.has_value());
  CHECK(set->machine == std::vector<std::pair<std::string, std::string>>{{"kernel", "6.1"},
                                                                         {"virtualised", "true"}});
}

TEST_CASE("JSON that is nested too deep is refused; brackets inside a string do not count") {
  using Json = nlohmann::json;
  const auto parse = [](const char* text, int deepest) {
    const auto parsed = iwarp::bytes::parse_json<Json>(text, deepest);
    return parsed ? parsed->dump() : parsed.error();
  };
  CHECK(parse("[[]]", 2) == "[[]]");
  CHECK(parse("[[]]", 1) == "JSON nested too deeply");
  CHECK(parse("[{},[],1]", 2) == "[{},[],1]");
  CHECK(parse(R"(["[[[\"[[["])", 1) == R"(["[[[\"[[["])");
  CHECK(parse(R"(["\\",{}])", 1) == "JSON nested too deeply");
  CHECK(parse("[[]", 2) == "not JSON");
}
