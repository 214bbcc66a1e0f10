// SPDX-License-Identifier: Apache-2.0
// Waiter: a driver that waits for a receive or for an STag. QpDriver: a Waiter with the functions
// of a connection's driver that the queue pair calls. Both are called from any thread. Only
// depart() and receive_imminent() block; the latter waits for the driver's lock.
#pragma once

#include <cstdint>
#include <memory>

#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// How urgently a posted request has to be sent.
enum class Doorbell : std::uint8_t {
  kNow,      ///< send the request at once
  kMayWait,  ///< the request may be coalesced: the application has completions left to poll
  /// As kMayWait, but the payload is large enough to be worth a system call if other connections
  /// coalesce requests as well.
  kLargeMayWait,
  /// The application sleeps, so nothing will send the request if it waits. Another thread sends it
  /// as soon as it can, together with the requests that are posted until then.
  kSoon,
};

/// The interface through which queues and the STag table notify a driver that waits for them.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  virtual ~Waiter() = default;
  /// Makes another thread resume what waits for an STag to be unpinned or for a shared receive. The
  /// calling thread must not resume it, because this thread may hold the lock of a queue or of the
  /// STag table.
  virtual void resume_soon() = 0;
  /// Announces that a receive is about to be posted to a shared queue that is empty. Called by the
  /// posting thread, without the locks of the queue.
  virtual void receive_imminent() {}
};

/// The interface through which a queue pair uses the driver of its connection. A connected queue
/// pair shares ownership of its driver until the stream is over.
class QpDriver : public Waiter {
 public:
  std::shared_ptr<QpDriver> shared() {
    return std::static_pointer_cast<QpDriver>(shared_from_this());
  }
  /// Notifies the driver that requests were posted to the send queue. Returns true if the driver
  /// delays these requests to coalesce them with later ones, until the application polls an empty
  /// completion queue or a short time has passed. Like that of receive_posted(), this default is
  /// for drivers that look for posted requests at times of their own.
  virtual bool posted(Doorbell doorbell) {
    (void)doorbell;
    return false;
  }
  /// Notifies the driver that a receive was posted. The driver then resumes the stream if the
  /// stream is waiting for a receive.
  virtual void receive_posted() {}
  /// Makes a thread of the driver end the accesses of peers that keep an invalidated STag pinned.
  /// The stream of this driver waits for these accesses to end, and a peer could delay their end;
  /// see Connection::withdraw().
  virtual void break_pins(Stag stag) { (void)stag; }
  /// Resets the connection. [VRB-11]
  virtual void abort() = 0;
  // The defaults of the next three, for drivers that cannot close in order, reset the connection.
  /// Closes the connection in order: sends the posted requests first.
  virtual void disconnect() { abort(); }
  /// Ends the stream with a Terminate, on behalf of the application. [VRB-9]
  virtual void terminate() { abort(); }
  /// Implements QueuePairPort::depart().
  virtual bool depart() {
    abort();
    return true;
  }
};

}  // namespace iwarp::verbs
