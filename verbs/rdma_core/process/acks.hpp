// SPDX-License-Identifier: Apache-2.0
// Counts acknowledged events, with the counters, mutexes and condition variables of the C structs.
// As with rdma-core, a call that destroys an object waits without limit until the program has
// acknowledged all events of the object that it has read: a thread that has read an event may use
// the object until then. Unlike rdma-core, the call also returns if the program has acknowledged
// more events than it has read, as fio does.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>

namespace iwarp::rdma_core {

/// How long a call waits for acknowledgements before it logs that it waits.
inline constexpr std::chrono::seconds kPatience{2};

/// Initializes the mutex and the condition variable. The condition variable uses the monotonic
/// clock.
void init_acks(pthread_mutex_t& mutex, pthread_cond_t& cond);

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& completed,
                 unsigned count);

/// Waits until at least `expected` events have been acknowledged. After kPatience, logs once that
/// the call `waiting` waits until the program calls `missing`.
void wait_for_acks(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::uint32_t& completed,
                   std::uint32_t expected, const char* waiting, const char* missing);

/// Logs that the call `waiting` waits, because `events` events were read but not acknowledged.
void log_wait(const char* waiting, unsigned events, const char* missing);

}  // namespace iwarp::rdma_core
