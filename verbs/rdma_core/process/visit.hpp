// SPDX-License-Identifier: Apache-2.0
// Visit: defers the deletion of an object while threads block in it. Programs close a device, or
// destroy a channel, while one of their threads waits for its events, and cancel that thread
// afterwards or let it return. The last user of the object deletes it: the program, when it closes
// or destroys the object, or the last thread that leaves it.
#pragma once

#include <pthread.h>

#include <atomic>

namespace iwarp::rdma_core {

/// Counts the users of an object. The object must have a Visits as its member `visits`.
class Visits {
 public:
  void enter() { ++count_; }
  /// Returns whether this was the last user.
  bool leave() { return --count_ == 0; }

 private:
  std::atomic<int> count_{1};  ///< the program is the first user
};

template <typename T>
void leave(T& object) {
  if (!object.visits.leave()) return;
  // Disables cancellation, because the destructor closes descriptors and close(2) is a cancellation
  // point.
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  delete &object;
  pthread_setcancelstate(before, nullptr);
}

template <typename T>
class Visit {
 public:
  explicit Visit(T& object) : object_(object) { object_.visits.enter(); }
  ~Visit() { leave(object_); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  T& object_;
};

}  // namespace iwarp::rdma_core
