// SPDX-License-Identifier: Apache-2.0
// Waiters: the streams that wait until a resource is released. A waiting thread first adds its
// driver and then checks the resource once more. The releasing thread first releases the resource
// and then notifies. So no release is missed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace iwarp::verbs {

class Waiter;

/// A set of drivers, each of which is notified once. Thread-safe; a thread that holds the lock of
/// the set takes no other lock.
class Waiters {
 public:
  /// Adds `driver` unless it is in the set already or has been destroyed. Throws std::bad_alloc.
  void add(const std::weak_ptr<Waiter>& driver);
  /// Empties the set. For each driver of the set that still exists, makes another thread resume the
  /// driver's stream.
  void tell() {
    if (any_.load()) tell_all();
  }
  /// Empties the set as tell() does, but calls Waiter::receive_imminent() of the drivers, without
  /// a lock held.
  void note_imminent() {
    if (any_.load()) note_all_imminent();
  }

 private:
  void tell_all();
  void note_all_imminent();
  std::vector<std::weak_ptr<Waiter>> take_all();

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<std::weak_ptr<Waiter>> drivers_;
};

}  // namespace iwarp::verbs
