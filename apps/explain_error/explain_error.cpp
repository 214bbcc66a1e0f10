// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "common/base/error.hpp"
#include "explain_error/error_code.hpp"

namespace iwarp::apps {
namespace {

void print(const ErrorCode& code) {
  fmt::print("{}\n  {}\n", code.title, code.meaning);
  if (!code.advice.empty()) fmt::print("  What to do: {}\n", code.advice);
}

int run_explain_error(const std::vector<std::string>& words) {
  if (words.empty()) {
    for (const ErrorCode& code : all_error_codes()) print(code);
    return 0;
  }
  for (const std::string& word : words) {
    const auto code = find_error_code(word);
    if (!code) {
      throw UsageError(fmt::format("\"{}\" is not a completion status, vendor_err or Terminate",
                                   printable(word)));
    }
    print(*code);
  }
  return 0;
}

}  // namespace

cli::Command explain_error_command() {
  cli::Command command("explain-error", "Explain the status or vendor_err of a failed completion");
  auto words = std::make_shared<std::vector<std::string>>();
  command.arguments("CODE", *words,
                    "A status (WR_FLUSH_ERR, 5), a vendor_err (0x11202) or a Terminate (1/2/02: "
                    "layer, type and code in hexadecimal); without CODE, explains every code");
  command.shown = {"iwarp explain-error 0x11202", "iwarp explain-error IBV_WC_WR_FLUSH_ERR",
                   "iwarp explain-error 1/2/02"};
  command.run = [words](const cli::Given&) { return run_explain_error(*words); };
  return command;
}

}  // namespace iwarp::apps
