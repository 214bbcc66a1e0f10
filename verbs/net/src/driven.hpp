// SPDX-License-Identifier: Apache-2.0
// Driven: what has sockets and feeds a completion queue, as its feed sees it: a connection, or a
// queue pair of datagrams.
#pragma once

#include <atomic>
#include <memory>

namespace iwarp::net {

class SocketSet;

class Driven {
 public:
  // The poll of an empty queue:
  /// Receives and sends what is possible now. `frequent`: and so do polls to come, so the worker is
  /// not woken until let_go().
  virtual void poll(bool frequent) = 0;
  /// The same, by who knows what the socket is ready for. True: octets came.
  virtual bool polled(bool readable, bool room) = 0;
  // Consumers that sleep on the socket:
  /// The worker is not woken until let_go().
  virtual void sleep_on() = 0;
  /// As polled(), by who was woken.
  virtual bool ready(bool readable, bool room) = 0;
  /// Nobody comes any more: the worker takes over.
  virtual void let_go() = 0;
  /// The set tells when the socket is ready, as long as is_plain() is true.
  virtual void join(std::shared_ptr<SocketSet> set) = 0;
  virtual void leave(const SocketSet* set) = 0;
  /// The socket is read, and nothing else is to be waited for but room to write.
  virtual bool is_plain() const = 0;
  /// The socket buffer is full.
  virtual bool is_blocked() const = 0;
  /// Posts that wait to leave together: the program polls, or is about to sleep.
  virtual void flush_posts() = 0;
  bool ended() const { return ended_.load(std::memory_order_acquire); }

 protected:
  ~Driven() = default;

  std::atomic<bool> ended_{false};
};

}  // namespace iwarp::net
