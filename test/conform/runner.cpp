// SPDX-License-Identifier: Apache-2.0
// Tests the loop that runs the cases: which result it reports for each way in which a case can end.
#include "conform/report/runner.hpp"

#include <doctest/doctest.h>

#include "support.hpp"

namespace iwarp::test {

TEST_CASE("a case passes, fails or is skipped, and the run continues") {
  std::size_t began = 0;
  std::vector<Outcome> outcomes;
  const auto report =
      run_of({&kPasses, &kFails, &kSkips, &kPasses},
             {.begins = [&](const Case&) { ++began; },
              .ended = [&](const Result& result) { outcomes.push_back(result.outcome); }});
  CHECK(began == 4);
  CHECK(outcomes == std::vector{Outcome::kPass, Outcome::kFail, Outcome::kSkip, Outcome::kPass});
  CHECK(report.results[1].expected == "Terminate 1/1/00 & <more>");
  CHECK(report.results[2].why == "the peer does not offer markers");
  CHECK(report.ended_early.empty());
}

TEST_CASE("a peer that cannot be reached at all gives no result") {
  CHECK_THROWS_WITH_AS(run_of({&kGone, &kPasses}),
                       "cannot connect to 192.0.2.7:7174: refused (start it)", apps::Error);
}

TEST_CASE("a peer that disappears during the run ends it after three cases") {
  const auto report = run_of({&kPasses, &kGone, &kGone, &kGone, &kPasses});
  REQUIRE(report.results.size() == 4);
  CHECK(report.results[3].outcome == Outcome::kFail);
  CHECK(report.results[3].observed == "cannot connect to 192.0.2.7:7174: refused");
  CHECK(report.ended_early ==
        "cannot connect to 192.0.2.7:7174: refused (check that the peer still works, then repeat "
        "the run)");
}

TEST_CASE("the run continues with a peer that comes back") {
  const auto report = run_of({&kPasses, &kGone, &kGone, &kPasses, &kGone, &kGone, &kPasses});
  CHECK(report.results.size() == 7);
  CHECK(report.ended_early.empty());
}

TEST_CASE("a stop signal ends the run with the results so far") {
  const auto report = run_of({&kPasses, &kInterrupts, &kPasses});
  CHECK(report.results.size() == 1);
  CHECK(report.ended_early == "interrupted");
}

}  // namespace iwarp::test
