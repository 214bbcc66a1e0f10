// SPDX-License-Identifier: Apache-2.0
// Counts acknowledgements. After kPatience, a waiting call logs how many are missing, and which
// function acknowledges them.
#include "process/acks.hpp"

#include <fmt/format.h>

#include <ctime>

#include "process/refusal.hpp"

namespace iwarp::rdma_core {

void init_acks(pthread_mutex_t& mutex, pthread_cond_t& cond) {
  pthread_mutex_init(&mutex, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&cond, &attributes);
  pthread_condattr_destroy(&attributes);
}

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& completed,
                 unsigned count) {
  pthread_mutex_lock(&mutex);
  completed += count;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
}

void wait_for_acks(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::uint32_t& completed,
                   std::uint32_t expected, const char* waiting, const char* missing) {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += kPatience.count();
  bool is_patient = true;
  pthread_mutex_lock(&mutex);
  while (completed < expected) {
    if (!is_patient) {
      pthread_cond_wait(&cond, &mutex);
    } else if (pthread_cond_timedwait(&cond, &mutex, &until) != 0) {
      is_patient = false;
      log_wait(waiting, expected - completed, missing);
    }
  }
  pthread_mutex_unlock(&mutex);
}

void log_wait(const char* waiting, unsigned events, const char* missing) {
  log_event({.level = verbs::LogLevel::kWarning,
             .event = "waits",
             .message = fmt::format(
                 "{} waits until the program acknowledges {} {} (call {} for each event first)",
                 waiting, events, events == 1 ? "event" : "events", missing)});
}

}  // namespace iwarp::rdma_core
