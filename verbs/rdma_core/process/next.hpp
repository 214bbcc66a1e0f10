// SPDX-License-Identifier: Apache-2.0
// Calls the function of the C library that a function of a preloaded library replaces. The first
// call looks up the address of that function. No function in this header takes a lock or allocates
// memory itself, and all of them work before the constructors of the preloaded library have run.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace iwarp::rdma_core {

/// The name of a function, as a template argument: `call_next<"mkdir", int>(path, mode)`.
template <std::size_t kSize>
struct FunctionName {
  // NOLINTNEXTLINE(google-explicit-constructor): a string literal converts to a template argument
  consteval FunctionName(const char (&name)[kSize]) { std::ranges::copy(name, text); }
  char text[kSize]{};
};

/// Returns the function `kName` of the C library. `Function` is its type.
template <FunctionName kName, typename Function>
Function* next_function() {
  static constinit std::atomic<Function*> found{nullptr};
  Function* out = found.load(std::memory_order_relaxed);
  if (out == nullptr) {
    out = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, kName.text));
    found.store(out, std::memory_order_relaxed);
  }
  return out;
}

/// Calls the function `kName` of the C library. Each argument must have exactly the type of the
/// function's parameter, because the type of the function is derived from the arguments.
template <FunctionName kName, typename Result, typename... Arguments>
Result call_next(Arguments... arguments) {
  return next_function<kName, Result(Arguments...)>()(arguments...);
}

}  // namespace iwarp::rdma_core
