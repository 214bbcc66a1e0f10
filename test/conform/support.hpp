// SPDX-License-Identifier: Apache-2.0
// Cases without a peer that end in every possible way, to test the code that runs the cases.
#pragma once

#include "conform/report/runner.hpp"

namespace iwarp::test {

using namespace apps::conform;

inline void passes(Script&) {}
inline void fails(Script&) { throw Failed{"Terminate 1/1/00 & <more>", "nothing \"at all\"\x01"}; }
inline void skips(Script&) { throw Skipped{"the peer does not offer markers"}; }
inline void gone(Script&) { throw Unreachable("cannot connect to 192.0.2.7:7174: refused"); }
inline void interrupts(Script&) { throw apps::Interrupted(); }

inline constexpr Case kPasses{.id = "test/one/passes",
                              .section = "RFC 5044 4.4",
                              .requirements = "MPA-46",
                              .title = "passes",
                              .run = passes};
inline constexpr Case kFails{.id = "test/one/fails",
                             .section = "RFC 5044 4.4",
                             .requirements = "MPA-46 MPA-12",
                             .title = "fails",
                             .run = fails};
inline constexpr Case kSkips{.id = "test/two/skips",
                             .section = "RFC 5041 7.2",
                             .requirements = "DDP-73",
                             .title = "skips",
                             .run = skips};
inline constexpr Case kShould{.id = "test/two/should",
                              .section = "RFC 5041 7.2",
                              .requirements = "DDP-2",
                              .title = "should pass",
                              .level = Level::kShould,
                              .run = fails};
inline constexpr Case kGone{.id = "test/three/gone",
                            .section = "RFC 5041 7.2",
                            .requirements = "DDP-2",
                            .title = "goes",
                            .run = gone};
inline constexpr Case kInterrupts{.id = "test/three/interrupts",
                                  .section = "RFC 5041 7.2",
                                  .requirements = "DDP-2",
                                  .title = "is interrupted",
                                  .run = interrupts};

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
