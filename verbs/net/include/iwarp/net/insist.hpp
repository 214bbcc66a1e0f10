// SPDX-License-Identifier: Apache-2.0
// insist(): for what fails only for want of memory, where there is nobody to tell that.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace iwarp::net {

/// Calls `function` again, after a pause, until it does not throw std::bad_alloc.
template <typename Function>
auto insist(Function function) {
  for (;;) {
    try {
      return function();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace iwarp::net
