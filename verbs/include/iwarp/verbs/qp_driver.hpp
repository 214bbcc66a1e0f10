// SPDX-License-Identifier: Apache-2.0
// What a queue pair tells whoever drives its connection. Called from any thread; never waits,
// except in depart().
#pragma once

#include <cstdint>
#include <memory>

#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// Whether a posted request has to leave at once.
enum class Doorbell : std::uint8_t {
  kNow,
  kMayWait,  ///< behind others: the consumer has not caught up with its completions
};

/// A connected queue pair shares in it until its stream is over.
class QpDriver : public std::enable_shared_from_this<QpDriver> {
 public:
  virtual ~QpDriver() = default;
  /// Send queue: something to send. True: it waits for more, for the consumer to poll an empty
  /// completion queue, or for a short time to pass.
  virtual bool posted(Doorbell doorbell) = 0;
  virtual void receive_posted() = 0;  ///< a stream held for want of a buffer may go on
  /// Memory that the stream waits for was let go, or a shared receive may be had: the stream is to
  /// be resumed, but not in this thread, which may hold the lock of a queue or of the STag table.
  virtual void resume_soon() = 0;
  /// A receive is about to be posted to a shared queue that is empty. Called by the thread that
  /// posts it, without the locks of the queue; may wait for the driver.
  virtual void receive_imminent() {}
  /// The stream waits until nobody uses what was invalidated, and peers could make that last: in
  /// the driver's own time they are cut off, see Connection::withdraw().
  virtual void break_pins(Stag stag) { (void)stag; }
  virtual void disconnect() = 0;  ///< orderly close
  virtual void terminate() = 0;   ///< the consumer ends the stream [VRB-9]
  /// Resets the connection. [VRB-11]
  virtual void abort() = 0;
  /// QueuePair::depart(). Drivers that cannot close in order reset.
  virtual bool depart() {
    abort();
    return true;
  }
};

}  // namespace iwarp::verbs
