// SPDX-License-Identifier: Apache-2.0
// insist(): for calls that fail only for want of memory, where the failure cannot be reported.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace iwarp::net {

/// Returns the result of `function`, called again after a pause of 1 ms while it throws
/// std::bad_alloc.
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
