// SPDX-License-Identifier: Apache-2.0
// What is done while something fails. Everything that a program can be told of is told by an error,
// an event or a completion, or by an exception that says there is no memory; a scenario ends with
// the first, and never waits without knowing that one has to come.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace failing {

struct Outcome {
  /// Empty: everything was done, and every octet was right.
  std::string error;
  /// What no failure excuses: octets that are wrong, an end that was never told.
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
