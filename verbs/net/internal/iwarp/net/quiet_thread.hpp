// SPDX-License-Identifier: Apache-2.0
// quiet_thread(): starts a thread of this library, which handles no signals of the program.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace iwarp::net {

/// Starts a thread that executes `function` with all signals blocked except those that report the
/// thread's own faults, because the program expects its own threads to handle signals. Throws
/// std::system_error if no thread can be started.
template <typename Function>
std::thread quiet_thread(Function function) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // If a signal that reports a fault were blocked, the kernel would end the process without calling
  // a handler.
  for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits the mask
  try {
    std::thread out(std::move(function));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return out;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace iwarp::net
