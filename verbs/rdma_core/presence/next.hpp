// SPDX-License-Identifier: Apache-2.0
// The system's function behind one of ours, found when it is first needed.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace iwarp::rdma_core::presence {

/// Of static duration and without a constructor that runs: other libraries' constructors may be
/// earlier than any of ours.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}

  template <typename... Arguments>
  auto operator()(Arguments... arguments) {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found(arguments...);
  }

 private:
  const char* const name_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace iwarp::rdma_core::presence
