// SPDX-License-Identifier: Apache-2.0
// The worker's thread.
#include "worker.hpp"

#include <pthread.h>
#include <signal.h>

#include "gather_timer.hpp"

namespace iwarp::net {

Worker::Worker(std::chrono::microseconds busy_poll)
    : busy_poll_(busy_poll), gather_timer_(std::make_unique<GatherTimer>(*this)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // What a thread does to itself is not deferred: the kernel would end the process without a word.
  for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Worker::~Worker() { join(); }

void Worker::run() {
  using Clock = std::chrono::steady_clock;
  if (busy_poll_.count() == 0) {
    context_.run();
    return;
  }
  while (context_.run_one() != 0) {
    for (auto last = Clock::now(); Clock::now() - last < busy_poll_;) {
      if (context_.poll() != 0) last = Clock::now();
    }
  }
}

void Worker::join() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace iwarp::net
