// SPDX-License-Identifier: Apache-2.0
// The command `iwarp explain-error`: finds the entry of each word, and prints all of them as text
// or JSON.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common/base/error.hpp"
#include "explain_error/call_errors.hpp"
#include "explain_error/error_code.hpp"

namespace iwarp::apps {
namespace {

void print(const ErrorCode& code) {
  fmt::print("{}\n  {}\n", code.title, code.meaning);
  for (const auto cause : code.causes) {
    if (!cause.empty()) fmt::print("  - {}\n", cause);
  }
  if (!code.advice.empty()) fmt::print("  What to do: {}\n", code.advice);
  if (!code.command.empty()) fmt::print("  Try it: {}\n", code.command);
}

nlohmann::ordered_json as_json(const ErrorCode& code) {
  auto causes = nlohmann::ordered_json::array();
  std::ranges::copy_if(code.causes, std::back_inserter(causes),
                       [](std::string_view cause) { return !cause.empty(); });
  return {{"title", code.title},   {"meaning", code.meaning}, {"causes", causes},
          {"advice", code.advice}, {"asked", code.asked},     {"command", code.command},
          {"prints", code.prints}};
}

/// Returns the entries for `words`: each word is a code, or a call or event, which an errno may
/// follow.
std::vector<ErrorCode> entries(const std::vector<std::string>& words) {
  std::vector<ErrorCode> out = words.empty() ? all_error_codes() : std::vector<ErrorCode>{};
  if (words.empty()) std::ranges::copy(find_call_errors("", ""), std::back_inserter(out));
  for (auto word = words.begin(); word != words.end(); ++word) {
    auto found = find_call_errors(*word, "");
    if (found.empty()) {
      const auto code = find_error_code(*word);
      if (!code) {
        throw UsageError(
            fmt::format("\"{}\" is not a completion status, vendor_err, Terminate, call or event "
                        "(iwarp explain-error without arguments lists them)",
                        printable(*word)));
      }
      found.push_back(*code);
    } else if (std::next(word) != words.end() && !word[1].empty()) {
      auto one = find_call_errors(*word, word[1]);
      if (!one.empty()) {
        found = std::move(one);
        ++word;
      }
    }
    std::ranges::copy(found, std::back_inserter(out));
  }
  return out;
}

int run_explain_error(const std::vector<std::string>& words, bool json) {
  const auto found = entries(words);
  if (!json) {
    std::ranges::for_each(found, print);
    return 0;
  }
  auto all = nlohmann::ordered_json::array();
  std::ranges::transform(found, std::back_inserter(all), as_json);
  fmt::print("{}\n", all.dump(2));
  return 0;
}

}  // namespace

cli::Command explain_error_command() {
  cli::Command command("explain-error", "Explain a failed completion, call or event");
  auto json = std::make_shared<bool>(false);
  auto words = std::make_shared<std::vector<std::string>>();
  command.arguments(
      "CODE", *words,
      "A completion status (WR_FLUSH_ERR or 5), a vendor_err (0x11202), a Terminate (1/2/02: "
      "layer, type and code in hexadecimal), or a call or an rdma_cm event, which an errno name "
      "may follow (ibv_modify_qp EINVAL); without CODE, all codes are explained");
  command.flag("--json", *json, "Print JSON");
  command.shown = {"iwarp explain-error 0x11202", "iwarp explain-error IBV_WC_WR_FLUSH_ERR",
                   "iwarp explain-error 1/2/02", "iwarp explain-error ibv_modify_qp EINVAL"};
  command.run = [words, json](const cli::Given&) { return run_explain_error(*words, *json); };
  return command;
}

}  // namespace iwarp::apps
