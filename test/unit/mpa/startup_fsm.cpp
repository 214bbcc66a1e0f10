// SPDX-License-Identifier: Apache-2.0
// Compares the state machine of Startup with its committed copy in rfc-notes/fsm.
#include "iwarp/mpa/startup_fsm.hpp"

#include <doctest/doctest.h>

#include <fsm_snapshot.hpp>

namespace iwarp::mpa {
namespace {

TEST_CASE("the startup machine is the one in rfc-notes/fsm [MPA-81, MPA-83, MPA-89]") {
  iwarp::test::check_fsm("mpa_startup", kStartupEdges);
}

TEST_CASE("no edge leaves the three final states") {
  for (const auto state :
       {StartupState::kFullOperation, StartupState::kRejected, StartupState::kFailed}) {
    for (const auto event : bytes::enumerators<StartupEvent>()) {
      CHECK_FALSE(bytes::step(kStartupEdges, state, event));
    }
  }
}

}  // namespace
}  // namespace iwarp::mpa
