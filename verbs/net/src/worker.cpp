// SPDX-License-Identifier: Apache-2.0
// The worker's thread.
#include "worker.hpp"

#include <pthread.h>
#include <signal.h>

namespace iwarp::net {

Worker::Worker() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // What a thread does to itself is not deferred: the kernel would end the process without a word.
  for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  try {
    thread_ = std::thread([this] { context_.run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Worker::~Worker() { join(); }

void Worker::join() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace iwarp::net
