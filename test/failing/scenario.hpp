// SPDX-License-Identifier: Apache-2.0
// The work that is done while a call fails. The stack reports each failure to the program by an
// error, an event or a completion, or by an exception for lack of memory. A scenario ends with the
// first such report, and waits only for reports that must come.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace failing {

struct Outcome {
  /// Empty if everything was done and all data is correct.
  std::string error;
  /// Empty unless something is wrong that no failure excuses: wrong data, or an end that was never
  /// reported.
  std::string violation;
};

struct Scenario {
  std::string_view name;
  Outcome (*run)();
};

std::span<const Scenario> scenarios();

Outcome sleeping();  ///< uses verbs/net; both ends sleep on channels
Outcome polling();   ///< uses verbs/net; both ends poll
Outcome drop_in();   ///< uses libibverbs and librdmacm

}  // namespace failing
