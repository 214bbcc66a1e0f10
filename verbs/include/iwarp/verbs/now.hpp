// SPDX-License-Identifier: Apache-2.0
// Now: the time of a call, for calls that seldom want to know it. A clock is looked at when the
// time is first asked for, and not again.
#pragma once

#include <utility>

#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::verbs {

class Now {
 public:
  using Look = mpa::TimePoint (*)();

  // NOLINTNEXTLINE(google-explicit-constructor): who knows the time says it
  Now(mpa::TimePoint at = {}) : at_(at) {}
  explicit Now(Look look) : look_(look) {}
  Now(const Now&) = delete;
  Now& operator=(const Now&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): it is one
  operator mpa::TimePoint() const {
    if (look_ != nullptr) at_ = std::exchange(look_, nullptr)();
    return at_;
  }

 private:
  mutable mpa::TimePoint at_;
  mutable Look look_ = nullptr;
};

}  // namespace iwarp::verbs
