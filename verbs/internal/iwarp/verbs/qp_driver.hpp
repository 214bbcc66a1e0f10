// SPDX-License-Identifier: Apache-2.0
// QpDriver: what a queue pair and its queues tell the driver of its connection. Called from any
// thread. No call waits, except depart() and, for the driver's lock, receive_imminent().
#pragma once

#include <cstdint>
#include <memory>

#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// How urgently a posted request has to be sent.
enum class Doorbell : std::uint8_t {
  kNow,      ///< send it at once
  kMayWait,  ///< may be coalesced: the application has completions left to poll
};

/// The driver of one connection, as its queue pair sees it. A connected queue pair holds shared
/// ownership of it until the stream is over.
class QpDriver : public std::enable_shared_from_this<QpDriver> {
 public:
  virtual ~QpDriver() = default;
  /// Notifies the driver that requests were posted to the send queue. Returns true if it delays
  /// them to coalesce them with later ones, until the application polls an empty completion queue
  /// or a short time has passed.
  virtual bool posted(Doorbell doorbell) = 0;
  /// Notifies the driver that a receive was posted, so that it resumes a stream held for lack of
  /// one.
  virtual void receive_posted() = 0;
  /// Resumes a stream that waits for pins to go or for a shared receive. Not in the calling thread,
  /// which may hold the lock of a queue or of the STag table.
  virtual void resume_soon() = 0;
  /// Announces that a receive is about to be posted to a shared queue that is empty. Called by the
  /// posting thread, without the locks of the queue.
  virtual void receive_imminent() {}
  /// Ends, in a thread of the driver, the accesses of peers that keep the invalidated STag pinned,
  /// which this stream waits for and which a peer could prolong; see Connection::withdraw().
  virtual void break_pins(Stag stag) { (void)stag; }
  /// Closes the connection in order: requests that are posted are sent first.
  virtual void disconnect() = 0;
  /// Ends the stream with a Terminate, on behalf of the application. [VRB-9]
  virtual void terminate() = 0;
  /// Resets the connection. [VRB-11]
  virtual void abort() = 0;
  /// As QueuePair::depart(). The default, for drivers that cannot close in order, resets and
  /// returns true.
  virtual bool depart() {
    abort();
    return true;
  }
};

}  // namespace iwarp::verbs
