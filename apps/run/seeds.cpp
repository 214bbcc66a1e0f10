// SPDX-License-Identifier: Apache-2.0
// Tries one seed after the other. After a failure, leaves out each freedom without which the
// command still fails in one of kTries runs.
#include "seeds.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace iwarp::apps {
namespace {

using options::Adversary;
using Run = std::function<Ending(const SeedRun&)>;

// The threads of the command do not behave in the same way in each run, so a failure may need more
// than one run.
constexpr int kTries = 4;
constexpr std::size_t kLines = 20;  // number of lines of the record to print

bool failed(const Ending& ending) { return ending.status != 0; }

bool fails(const Adversary& with, const Run& run) {
  for (int i = 0; i < kTries; ++i) {
    // An empty variable switches the adversary off; a seed without names has all freedoms.
    const std::string text = with.freedoms != 0 ? to_string(with) : "";
    if (failed(run({.adversary = text, .record = {}, .is_silent = true}))) return true;
  }
  return false;
}

/// Returns `adversary` without the freedoms that the failure does not need.
Adversary shortest(Adversary adversary, const Run& run) {
  for (unsigned i = 0; i < options::kFreedoms.size(); ++i) {
    Adversary without = adversary;
    without.freedoms &= ~(1U << i);
    if (without.freedoms != adversary.freedoms && fails(without, run)) adversary = without;
  }
  return adversary;
}

/// Prints the end of the record of a failing run.
void print_record(const Adversary& adversary, const Run& run) {
  for (int i = 0; i < kTries; ++i) {
    const Reports record("iwarp-adversary");
    const Ending ending =
        run({.adversary = to_string(adversary), .record = record.path(), .is_silent = true});
    if (!failed(ending)) continue;
    const auto lines = record.last_lines(kLines);
    if (!lines.empty()) fmt::print(stderr, "iwarp run: what the device did before the failure:\n");
    for (const auto& line : lines) fmt::print(stderr, "  {}\n", line);
    return;
  }
}

}  // namespace

int try_seeds(const Adversary& adversary, const std::string& command, bool is_quiet,
              const Run& run) {
  Adversary one = adversary;
  for (one.first = adversary.first;; ++one.first) {
    one.last = one.first;
    const Ending ending = run({.adversary = to_string(one), .record = {}, .is_silent = false});
    if (failed(ending)) {
      if (is_quiet) return ending.status;
      fmt::print(stderr, "iwarp run: {} failed with seed {}: exit status {}\n", command, one.first,
                 ending.status);
      const Adversary least = shortest(one, run);
      const bool is_luck = least.freedoms == 0;
      fmt::print(stderr, "iwarp run: {}\n",
                 is_luck ? command + " also fails without --adversary"
                         : "shortest option that still fails: --adversary=" + to_string(least));
      if (!is_luck) print_record(least, run);
      return ending.status;
    }
    if (one.first == adversary.last) break;
  }
  if (!is_quiet) {
    fmt::print(stderr, "iwarp run: {} passed with each of the seeds {} to {}\n", command,
               adversary.first, adversary.last);
  }
  return 0;
}

}  // namespace iwarp::apps
