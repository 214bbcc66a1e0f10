// SPDX-License-Identifier: Apache-2.0
// Cases without a peer that end in every possible way, to test the code that runs the cases.
#pragma once

#include "conform/report/runner.hpp"

namespace iwarp::test {

using namespace apps::conform;

inline void passes(Script&) {}
inline void fails(Script&) { throw Failed{"Terminate 1/1/00 & <more>", "nothing \"at all\"\x01"}; }
inline void skips(Script&) { throw Skipped{"the peer does not offer markers"}; }
inline void gone(Script&) {
  throw Unreachable("cannot connect to 192.0.2.7:7174: refused", " (start it)");
}
inline void interrupts(Script&) { throw apps::Interrupted(); }

constexpr Case made(std::string_view id, std::string_view section, std::string_view requirements,
                    std::string_view title, void (*run)(Script&), Level level = Level::kMust) {
  return {.id = id,
          .section = section,
          .requirements = requirements,
          .title = title,
          .level = level,
          .run = run};
}

inline constexpr Case kPasses = made("test/one/passes", "RFC 5044 4.4", "MPA-46", "passes", passes);
inline constexpr Case kFails =
    made("test/one/fails", "RFC 5044 4.4", "MPA-46 MPA-12", "fails", fails);
inline constexpr Case kSkips = made("test/two/skips", "RFC 5041 7.2", "DDP-73", "skips", skips);
inline constexpr Case kShould =
    made("test/two/should", "RFC 5041 7.2", "DDP-2", "should pass", fails, Level::kShould);
inline constexpr Case kGone = made("test/three/gone", "RFC 5041 7.2", "DDP-2", "goes", gone);
inline constexpr Case kInterrupts =
    made("test/three/interrupts", "RFC 5041 7.2", "DDP-2", "is interrupted", interrupts);

inline Report run_of(const std::vector<const Case*>& cases, const Observer& observer) {
  Report report{.peer = "192.0.2.7:7174", .should = true};
  run_all(cases, {}, observer, report);
  // Reports contain times. They are fixed here, because the tests compare complete texts.
  report.took = std::chrono::milliseconds(1500);
  for (auto& result : report.results) result.took = std::chrono::milliseconds(250);
  return report;
}

inline Report run_of(const std::vector<const Case*>& cases) {
  return run_of(cases, {.begins = [](const Case&) {}, .ended = [](const Result&) {}});
}

}  // namespace iwarp::test
