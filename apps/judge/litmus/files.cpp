// SPDX-License-Identifier: Apache-2.0
// Reads litmus files, runs them, and reports the outcomes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "command_line/error.hpp"
#include "judge/litmus/runner.hpp"
#include "report/file.hpp"

namespace iwarp::judge::litmus {

/// Returns the text of a file that is built in. The text of "names" is the list of names.
std::string_view built_in(std::string_view name);

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kVerdicts[] = {"right", "FORBIDDEN", "FAILED", "not applicable"};

std::string outcome_text(const Program& program, const std::vector<std::uint64_t>& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += fmt::format("{}{}={}", i == 0 ? "" : " ", program.shown[i].text, values[i]);
  }
  return out;
}

std::string text_of(const Program& program, const Result& result) {
  std::string out =
      fmt::format("{} {}: ", kVerdicts[static_cast<std::size_t>(result.verdict)], program.name);
  if (!result.why.empty()) return out + result.why + "\n";
  out +=
      fmt::format("exists {} {}: {} of {} runs, {:.1f} s\n", program.question_text,
                  name_of(result.expected.answer), result.hits, result.runs, result.took.count());
  for (const auto& [values, count] : result.histogram) {
    out += fmt::format("    {:>9} {} {}\n", count.runs, count.is_hit ? '*' : ' ',
                       outcome_text(program, values));
  }
  if (result.verdict == Result::Verdict::kForbidden) {
    out += fmt::format("    {}: {}\n", name_of(result.expected.answer), result.expected.source);
  }
  return out;
}

Json json_of(const Program& program, const Result& result) {
  Json outcomes = Json::array();
  for (const auto& [values, count] : result.histogram) {
    Json outcome{{"runs", count.runs}, {"hit", count.is_hit}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      outcome["values"][program.shown[i].text] = values[i];
    }
    outcomes.push_back(std::move(outcome));
  }
  return {{"name", program.name},
          {"question", program.question_text},
          {"expected", name_of(result.expected.answer)},
          {"source", result.expected.source},
          {"verdict", kVerdicts[static_cast<std::size_t>(result.verdict)]},
          {"why", result.why},
          {"runs", result.runs},
          {"seconds", result.took.count()},
          {"hits", result.hits},
          {"outcomes", std::move(outcomes)}};
}

Program parse_file(std::string_view name, std::string_view text) {
  try {
    return parse(text);
  } catch (const SyntaxError& error) {
    throw apps::UsageError(
        fmt::format("{}:{}: expected {}, found {}", name, error.line, error.expected, error.found));
  }
}

std::vector<Program> built_in_programs() {
  std::vector<Program> out;
  for (std::string_view rest = built_in("names"); !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    out.push_back(parse_file(rest.substr(0, end), built_in(rest.substr(0, end))));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::vector<Program> programs_of(const fs::path& path) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".litmus") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (error == std::errc::not_a_directory || error == std::errc::no_such_file_or_directory) {
    files = {path};
  }
  if (files.empty()) {
    throw apps::UsageError(fmt::format("\"{}\" has no *.litmus files", path.string()));
  }
  std::vector<Program> out;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (!stream) {
      throw apps::UsageError(
          fmt::format("cannot read \"{}\": {}", file.string(), apps::errno_text()));
    }
    out.push_back(parse_file(file.string(), text));
  }
  return out;
}

/// A name that is not that of a file selects the built-in program of this name.
std::vector<Program> chosen(const fs::path& path) {
  std::error_code ignored;
  if (!path.empty() && (path.has_parent_path() || fs::exists(path, ignored))) {
    return programs_of(path);
  }
  auto out = built_in_programs();
  const std::string name = path.stem();
  if (!name.empty()) std::erase_if(out, [&](const Program& each) { return each.name != name; });
  return out.empty() ? programs_of(path) : out;
}

}  // namespace

int run_files(const Target& target, const Options& options) {
  const auto programs = chosen(options.path);
  std::optional<apps::report::ReportFile> file;
  if (options.json) file.emplace(*options.json);
  Json report = Json::array();
  int status = 0;
  for (const Program& program : programs) {
    const Result result = run(program, target, options.runs, options.seed);
    if (result.verdict == Result::Verdict::kForbidden ||
        result.verdict == Result::Verdict::kFailed) {
      status = apps::kExitFailure;
    }
    if (file) report.push_back(json_of(program, result));
    if (options.json != "") apps::report::show(text_of(program, result));
  }
  if (file) file->write(report.dump(2) + "\n");
  return status;
}

}  // namespace iwarp::judge::litmus
