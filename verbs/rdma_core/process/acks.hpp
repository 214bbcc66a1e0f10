// SPDX-License-Identifier: Apache-2.0
// Counts acknowledged events, with the counters, mutexes and condition variables of the C structs.
// When a program destroys an object, rdma-core waits without limit until the number of acknowledged
// events equals the number of events that the program has read. Some programs acknowledge more
// events than they read, or none. So wait_for_acks() also returns if the number of acknowledged
// events is larger, or when one second has passed.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <ctime>

namespace iwarp::rdma_core {

/// Initializes the mutex and the condition variable. The condition variable uses the monotonic
/// clock.
inline void init_acks(pthread_mutex_t& mutex, pthread_cond_t& cond) {
  pthread_mutex_init(&mutex, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&cond, &attributes);
  pthread_condattr_destroy(&attributes);
}

inline void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& completed,
                        unsigned count) {
  pthread_mutex_lock(&mutex);
  completed += count;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
}

/// Waits until at least `expected` events have been acknowledged, or until one second has passed.
/// Returns false if fewer events have been acknowledged by then. The caller must then not free the
/// C struct, because a thread may still acknowledge an event later.
inline bool wait_for_acks(pthread_mutex_t& mutex, pthread_cond_t& cond,
                          const std::uint32_t& completed, std::uint32_t expected) {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  ++until.tv_sec;
  pthread_mutex_lock(&mutex);
  while (completed < expected) {
    if (pthread_cond_timedwait(&cond, &mutex, &until) != 0) break;
  }
  const bool done = completed >= expected;
  pthread_mutex_unlock(&mutex);
  return done;
}

}  // namespace iwarp::rdma_core
