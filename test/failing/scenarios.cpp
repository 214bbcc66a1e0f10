// SPDX-License-Identifier: Apache-2.0
// The table of scenarios.
#include <array>

#include "scenario.hpp"

namespace failing {

std::span<const Scenario> scenarios() {
  static constexpr std::array kAll{
      Scenario{.name = "sleeping", .run = sleeping},
      Scenario{.name = "polling", .run = polling},
      Scenario{.name = "drop_in", .run = drop_in},
  };
  return kAll;
}

}  // namespace failing
