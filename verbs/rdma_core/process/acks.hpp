// SPDX-License-Identifier: Apache-2.0
// Acknowledges events, with the counters, mutexes and condition variables of the C structs. When an
// object is destroyed, rdma-core waits without limit until the number of acknowledged events equals
// the number of events read. Some programs acknowledge more events than they read, or none. So here
// the wait also ends if the number is larger, and it is bounded.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <ctime>

namespace iwarp::rdma_core {

/// Initializes the mutex and the condition variable, which uses the monotonic clock.
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

/// Waits until `expected` events were acknowledged, but for one second at most. Returns false if
/// the time was not sufficient. The struct must then not be freed, because a thread may still
/// acknowledge the events later.
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
