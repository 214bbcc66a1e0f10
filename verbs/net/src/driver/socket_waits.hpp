// SPDX-License-Identifier: Apache-2.0
// SocketWaits: the waits of the worker's reactor for one socket, at most one of each kind.
#pragma once

#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>

#include "driver/worker.hpp"

namespace iwarp::net {

/// Call with the lock of the socket's driver held. The handlers of await() run without that lock.
class SocketWaits {
  using Readiness = asio::posix::stream_descriptor;

 public:
  enum Kind : std::uint8_t { kRead = 1, kWrite = 2, kError = 4 };

  explicit SocketWaits(Worker& worker) : readiness_(worker.context()) {}
  ~SocketWaits() { release(); }
  SocketWaits(const SocketWaits&) = delete;
  SocketWaits& operator=(const SocketWaits&) = delete;

  /// Adds the socket to the reactor, which does not take ownership of it. Call before the first
  /// await(), and again after release(). Returns false if the reactor refuses the socket.
  bool watch(int socket) {
    boost::system::error_code failed;
    if (!readiness_.is_open()) (void)readiness_.assign(socket, failed);
    return !failed;
  }
  /// Cancels all waits. Call before the socket is closed.
  void release() {
    if (readiness_.is_open()) readiness_.release();
  }
  bool is_pending(Kind kind) const {
    return (pending_.load(std::memory_order_relaxed) & kind) != 0;
  }
  /// Calls `done` on the worker thread when the socket is ready or the wait is cancelled. `done`
  /// must keep this object alive. Throws std::bad_alloc, without starting a wait, if memory runs
  /// out.
  template <typename Done>
  void await(Kind kind, Done done) {
    pending_.fetch_or(kind);
    try {
      readiness_.async_wait(type(kind), [this, kind, done](const boost::system::error_code&) {
        pending_.fetch_and(static_cast<std::uint8_t>(~kind));
        done();
      });
    } catch (...) {
      pending_.fetch_and(static_cast<std::uint8_t>(~kind));
      throw;
    }
  }

 private:
  static Readiness::wait_type type(Kind kind) {
    if (kind == kRead) return Readiness::wait_read;
    return kind == kWrite ? Readiness::wait_write : Readiness::wait_error;
  }

  Readiness readiness_;
  /// Bit set of the kinds of pending waits. The bit of a cancelled wait stays set until its handler
  /// runs.
  std::atomic<std::uint8_t> pending_{0};
};

}  // namespace iwarp::net
