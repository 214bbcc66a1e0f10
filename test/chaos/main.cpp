// SPDX-License-Identifier: Apache-2.0
// Runs the plans of a range of seeds. If a plan breaks a rule, shrinks the plan, prints it, and
// exits with status 1. Reads the clock only to compute seeds per minute.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trial.hpp"

namespace {

using namespace iwarp::chaos;  // NOLINT: this file only runs the chaos test

constexpr std::uint64_t kShortRun = 3'000;
constexpr std::uint64_t kLongRun = 100'000;

constexpr const char* kUsage =
    "usage: chaos [--seeds A-B | --seed N] [--verbose]\n"
    "  --seeds A-B   these seeds; without it 1 to 3000, with IWARP_LONG=1 1 to 100000\n"
    "  --seed N      this one\n"
    "  --verbose     every step and completion of a single seed\n";

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t last = kShortRun;
  bool verbose = false;
};

bool parse_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_range(std::string_view text, Arguments& out) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  return parse_number(text.substr(0, dash), out.first) &&
         parse_number(text.substr(dash + 1), out.last) && out.first <= out.last;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments out;
  const char* const long_run = std::getenv("IWARP_LONG");
  if (long_run != nullptr && std::string_view(long_run) == "1") out.last = kLongRun;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--verbose") {
      out.verbose = true;
    } else if (word == "--seeds" && parse_range(value, out)) {
      ++i;
    } else if (word == "--seed" && parse_number(value, out.first)) {
      out.last = out.first;
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

void tell(const Plan& plan) {
  std::vector<std::string> lines;
  const auto outcome = run(plan, &lines);
  fmt::print("{}\n", describe(plan));
  for (const auto& line : lines) fmt::print("{}\n", line);
  if (outcome.violation) {
    fmt::print("broken: {}: {}\n", outcome.violation->rule, outcome.violation->detail);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const bool single = arguments->first == arguments->last;
  std::uint64_t connections = 0;
  std::uint64_t undisturbed = 0;
  std::uint64_t completions = 0;
  const auto started = std::chrono::steady_clock::now();
  for (std::uint64_t seed = arguments->first; seed <= arguments->last; ++seed) {
    const Plan plan = make_plan(seed);
    const auto outcome = run(plan);
    if (const auto& violation = outcome.violation) {
      fmt::print("seed {} breaks a rule: {}: {}\n", seed, violation->rule, violation->detail);
      tell(arguments->verbose ? plan : shrink(plan, violation->rule));
      return 1;
    }
    if (single && arguments->verbose) tell(plan);
    connections += outcome.connections;
    undisturbed += outcome.undisturbed;
    completions += outcome.completions;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  const auto seeds = arguments->last - arguments->first + 1;
  fmt::print(
      "{} seeds, {} connections, {} of them undisturbed, {} completions: no rule broken; {:.0f} "
      "seeds a minute\n",
      seeds, connections, undisturbed, completions, static_cast<double>(seeds) / took.count() * 60);
  return 0;
}
