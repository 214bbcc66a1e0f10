// SPDX-License-Identifier: Apache-2.0
// Visit: defers the deletion of an object while threads block in one of its functions. Some
// programs close a device, or destroy a channel, while one of their threads waits for an event of
// it. They cancel that thread later, or let it return. The last user deletes the object. The last
// user is either the call that closes or destroys the object, or the last thread that stops
// waiting.
#pragma once

#include <pthread.h>

#include <atomic>

namespace iwarp::rdma_core {

/// Counts the users of an object. The object must have a Visits as its member `visits`.
class Visits {
 public:
  void enter() { ++count_; }
  /// Removes one user. Returns whether it was the last one.
  bool leave() { return --count_ == 0; }

 private:
  std::atomic<int> count_{1};  ///< initially 1, because the program itself is a user
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
