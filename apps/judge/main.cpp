// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "judge/frame/run.hpp"

int main(int argc, char** argv) {
  using namespace iwarp::judge;
  Target target;
  target.device = argc > 1 ? argv[1] : "";
  const std::string_view only = argc > 2 ? argv[2] : "";
  int failed = 0;
  for (const auto table : all_cases()) {
    for (const Case& what : table) {
      if (!what.id.starts_with(only) || what.is_dangerous) continue;
      const Result result = run_case(what, target, std::chrono::seconds(20));
      constexpr std::string_view kWords[] = {"pass", "FAIL", "refused", "not applicable"};
      fmt::print("{} {} {}\n", kWords[static_cast<int>(result.verdict)], what.id, result.why);
      for (const Observation& one : result.observations) {
        if (one.is_right) continue;
        fmt::print("    {}\n    expected {}\n    came {}\n", one.step, one.expected, one.came);
      }
      failed += result.verdict == Verdict::kFail ? 1 : 0;
    }
  }
  return failed != 0 ? 1 : 0;
}
