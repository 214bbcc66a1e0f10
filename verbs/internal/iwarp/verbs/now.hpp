// SPDX-License-Identifier: Apache-2.0
// Now: the time of a call. The clock is read only if the call needs the time, and not more than
// once.
#pragma once

#include <utility>

#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::verbs {

/// A time point that may be read lazily. Passed by reference; lives as long as the call. Not
/// thread-safe.
class Now {
 public:
  /// A function that reads the clock.
  using Look = mpa::TimePoint (*)();

  // NOLINTNEXTLINE(google-explicit-constructor): a caller that knows the time passes it
  Now(mpa::TimePoint at = {}) : at_(at) {}  ///< constructor for a caller that knows the time
  explicit Now(Look look) : look_(look) {}  ///< `look` is called once, at the first conversion
  Now(const Now&) = delete;
  Now& operator=(const Now&) = delete;

  /// Returns the time: the same value at every conversion.
  // NOLINTNEXTLINE(google-explicit-constructor): a Now stands for a time point
  operator mpa::TimePoint() const {
    if (look_ != nullptr) at_ = std::exchange(look_, nullptr)();
    return at_;
  }

 private:
  mutable mpa::TimePoint at_;
  mutable Look look_ = nullptr;
};

}  // namespace iwarp::verbs
