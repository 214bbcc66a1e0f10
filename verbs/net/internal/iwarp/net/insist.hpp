// SPDX-License-Identifier: Apache-2.0
// insist(): retries a call that fails only if memory runs out, in code that cannot report a
// failure.
#pragma once

#include <chrono>
#include <new>
#include <thread>

namespace iwarp::net {

/// Calls `function` and returns its result. If it throws std::bad_alloc, calls it again after a
/// pause of 1 ms.
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
