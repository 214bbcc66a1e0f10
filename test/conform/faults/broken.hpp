// SPDX-License-Identifier: Apache-2.0
// The switch of the faults in faults.py: IWARP_BROKEN("id") is true if the environment variable
// IWARP_BREAK contained "id" when the program started. Only the edited copies of the sources
// include this header. The project's own sources never do.
#pragma once

#include <cstdlib>
#include <string_view>

namespace iwarp::test {

inline bool broken(std::string_view id) {
  static const char* const chosen = std::getenv("IWARP_BREAK");
  return chosen != nullptr && id == chosen;
}

}  // namespace iwarp::test

#define IWARP_BROKEN(id) ::iwarp::test::broken(id)
