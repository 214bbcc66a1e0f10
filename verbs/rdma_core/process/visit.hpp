// SPDX-License-Identifier: Apache-2.0
// Visit: keeps an object whose thread may sleep in it. Programs close a device, or destroy a
// channel, while one of their threads waits for its events, and cancel that thread afterwards, or
// let it come back: whoever is the last, the program or the thread, deletes the object.
#pragma once

#include <pthread.h>

#include <atomic>

namespace iwarp::rdma_core {

/// A member, `visits`, of what may be visited.
class Visits {
 public:
  void enter() { ++count_; }
  /// True: nobody is left.
  bool leave() { return --count_ == 0; }

 private:
  std::atomic<int> count_{1};  ///< the program's
};

template <typename T>
void leave(T& object) {
  if (!object.visits.leave()) return;
  // What is closed now must not be where a thread ends that is cancelled.
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
