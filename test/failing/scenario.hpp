// SPDX-License-Identifier: Apache-2.0
// What is done while a call fails. Everything is reported to the program by an error, an event or a
// completion, or by an exception for lack of memory. A scenario ends with the first of them, and
// never waits unless one must come.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace failing {

struct Outcome {
  /// Empty if everything was done and all data is correct.
  std::string error;
  /// What no failure excuses: wrong data, or an end that was never reported.
  std::string violation;
};

struct Scenario {
  std::string_view name;
  Outcome (*run)();
};

std::span<const Scenario> scenarios();

Outcome sleeping();  ///< verbs/net; both ends sleep on channels
Outcome polling();   ///< verbs/net; both ends poll
Outcome drop_in();   ///< libibverbs and librdmacm

}  // namespace failing
