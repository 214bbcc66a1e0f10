// SPDX-License-Identifier: Apache-2.0
// The list of the programs. CARELESS() begins a program and adds it to the list, as TEST_CASE()
// does for a test.
#pragma once

#include <vector>

namespace careless {

inline constexpr const char* kCorrect = "";        ///< no check reports anything
inline constexpr const char* kUnlisted = nullptr;  ///< as kCorrect, but main() does not list it

struct Program {
  const char* name;
  void (*run)();
  const char* noticed_by;  ///< check that reports the mistake, or kCorrect or kUnlisted
};

inline std::vector<Program>& programs() {
  static std::vector<Program> all;
  return all;
}

struct Registration {
  explicit Registration(const Program& program) { programs().push_back(program); }
};

}  // namespace careless

// The function is exported, so that a report can name it.
#define CARELESS(name, check)                                                       \
  extern "C" void name();                                                           \
  static const careless::Registration registration_of_##name({#name, name, check}); \
  extern "C" void name()
