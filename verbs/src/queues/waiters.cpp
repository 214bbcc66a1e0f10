// SPDX-License-Identifier: Apache-2.0
// Waiters: adds each driver once. A notification empties the list first, so a driver that finds
// nothing has to add itself again.
#include "iwarp/verbs/waiters.hpp"

#include <algorithm>
#include <utility>

#include "iwarp/verbs/qp_driver.hpp"

namespace iwarp::verbs {

void Waiters::add(const std::weak_ptr<Waiter>& driver) {
  if (driver.expired()) return;
  const std::lock_guard lock(mutex_);
  const auto is_same = [&driver](const std::weak_ptr<Waiter>& other) {
    return !other.owner_before(driver) && !driver.owner_before(other);
  };
  // Remove drivers that no longer exist. Otherwise the set would grow without limit if streams wait
  // and end while no notification occurs.
  std::erase_if(drivers_, [](const auto& other) { return other.expired(); });
  if (std::none_of(drivers_.begin(), drivers_.end(), is_same)) drivers_.push_back(driver);
  any_.store(true);
}

std::vector<std::weak_ptr<Waiter>> Waiters::take_all() {
  const std::lock_guard lock(mutex_);
  any_.store(false);
  return std::exchange(drivers_, {});
}

void Waiters::tell_all() {
  for (const auto& waiter : take_all()) {
    if (const auto driver = waiter.lock()) driver->resume_soon();
  }
}

void Waiters::note_all_imminent() {
  for (const auto& waiter : take_all()) {
    if (const auto driver = waiter.lock()) driver->receive_imminent();
  }
}

}  // namespace iwarp::verbs
