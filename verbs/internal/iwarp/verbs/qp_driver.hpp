// SPDX-License-Identifier: Apache-2.0
// QpDriver: the functions of a connection's driver that the queue pair and its queues call, from
// any thread. Only depart() and receive_imminent() block; the latter waits for the driver's lock.
#pragma once

#include <cstdint>
#include <memory>

#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// How urgently a posted request has to be sent.
enum class Doorbell : std::uint8_t {
  kNow,      ///< send the request at once
  kMayWait,  ///< the request may be coalesced: the application has completions left to poll
};

/// The interface through which a queue pair uses the driver of its connection. A connected queue
/// pair shares ownership of its driver until the stream is over.
class QpDriver : public std::enable_shared_from_this<QpDriver> {
 public:
  virtual ~QpDriver() = default;
  /// Notifies the driver that requests were posted to the send queue. Returns true if the driver
  /// delays these requests to coalesce them with later ones, until the application polls an empty
  /// completion queue or a short time has passed.
  virtual bool posted(Doorbell doorbell) = 0;
  /// Notifies the driver that a receive was posted. The driver then resumes the stream if the
  /// stream is waiting for a receive.
  virtual void receive_posted() = 0;
  /// Makes another thread resume a stream that waits for an STag to be unpinned or for a shared
  /// receive. The calling thread must not resume it, because this thread may hold the lock of a
  /// queue or of the STag table.
  virtual void resume_soon() = 0;
  /// Announces that a receive is about to be posted to a shared queue that is empty. Called by the
  /// posting thread, without the locks of the queue.
  virtual void receive_imminent() {}
  /// Makes a thread of the driver end the accesses of peers that keep an invalidated STag pinned.
  /// The stream of this driver waits for these accesses to end, and a peer could delay their end;
  /// see Connection::withdraw().
  virtual void break_pins(Stag stag) { (void)stag; }
  /// Closes the connection in order: sends the posted requests first.
  virtual void disconnect() = 0;
  /// Ends the stream with a Terminate, on behalf of the application. [VRB-9]
  virtual void terminate() = 0;
  /// Resets the connection. [VRB-11]
  virtual void abort() = 0;
  /// Implements QueuePairPort::depart(). This default, for drivers that cannot close in order,
  /// resets the connection and returns true.
  virtual bool depart() {
    abort();
    return true;
  }
};

}  // namespace iwarp::verbs
