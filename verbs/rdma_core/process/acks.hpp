// SPDX-License-Identifier: Apache-2.0
// Acknowledges events, with the counters, mutexes and condition variables of the C structs.
// rdma-core waits without limit until exactly as many events were acknowledged as were taken. Some
// programs acknowledge too many, or none at all. So here too many suffice, and the wait is bounded.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <ctime>

namespace iwarp::rdma_core {

/// Initializes both. The condition variable uses the monotonic clock.
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

/// Waits until `expected` events were acknowledged, for one second at most. Returns false if they
/// were not: a thread may still acknowledge them later, so the struct must not be freed.
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
