// SPDX-License-Identifier: Apache-2.0
// Next: calls the function of the C library that a function of this library replaces. The first
// call looks up the address of that function.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace iwarp::rdma_core::presence {

/// Objects of this class must be static. Constructors of other libraries may call functions of this
/// library before this library's own constructors run. The constructor is constexpr, so that an
/// object is valid even then.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}

  /// Returns the function of the C library.
  Function* get() {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found;
  }

  template <typename... Arguments>
  auto operator()(Arguments... arguments) {
    return get()(arguments...);
  }

 private:
  const char* const name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace iwarp::rdma_core::presence
