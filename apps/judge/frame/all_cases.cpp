// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "judge/cases/cases.hpp"

namespace iwarp::judge {

std::span<const std::span<const Case>> all_cases() {
  static const std::array tables{
      device_cases(),
  };
  return tables;
}

}  // namespace iwarp::judge
