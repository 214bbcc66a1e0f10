// SPDX-License-Identifier: Apache-2.0
// A scenario is the work that is done while a call fails. The stack reports each failure to the
// program by an error, an event or a completion, or by an exception if memory runs out. A scenario
// ends at the first such report, or repeats the call that failed, and waits only for reports that
// must arrive.
#pragma once

#include <string>
#include <string_view>

namespace failing {

struct Outcome {
  /// Empty if everything was done and all data is correct.
  std::string error;
  /// Not empty if something is wrong that no failed call excuses: wrong data, or a connection whose
  /// end was never reported.
  std::string violation;
};

struct Scenario {
  std::string_view name;
  Outcome (*run)();
  /// Number of runs after which the library keeps as many descriptors as it ever does: those of the
  /// device after one run; those of the last eight rdma_cm event channels after ten.
  unsigned warm_up = 0;
  /// Whether the scenario is so short that each of its calls fails once in some run; with
  /// AddressSanitizer, a part of them.
  bool is_short = false;
};

Outcome sleeping();  ///< uses verbs/net; both ends sleep on channels
Outcome polling();   ///< uses verbs/net; both ends poll
Outcome drop_in();   ///< uses libibverbs and librdmacm
Outcome creation();  ///< uses libibverbs with hooks; creates and destroys objects
Outcome use();       ///< uses libibverbs with hooks; uses and destroys objects

/// Turns careful mode, the adversary and fault injection on in this process.
void turn_hooks_on();

}  // namespace failing
