// SPDX-License-Identifier: Apache-2.0
// The stream's half of a queue pair, outbound: which request is next, whose memory it may use, and
// what completes, in which order (verbs draft section 8, RFC 7306 sections 5 and 6). Under the
// connection's lock; flush() without one, when there is no connection.
#pragma once

#include "iwarp/rdmap/ulp.hpp"
#include "qp_shared.hpp"
#include "send_ring.hpp"

namespace iwarp::verbs {

class SendQueue {
 public:
  SendQueue(QpShared& qp, SendRing& ring) : qp_(qp), ring_(ring) {}

  // As rdmap::Ulp has them.
  bool next_request(bool read_credit, rdmap::Request& out);
  void sent(std::uint64_t cookie);
  void read_done(std::uint64_t cookie);
  void atomic_done(std::uint64_t cookie, std::uint64_t original);

  /// Everything posted is finished.
  bool is_idle() const {
    return ring_.retired.load() == ring_.posted.load(std::memory_order_acquire);
  }
  /// next_request() has something to start, or at least to look at.
  bool has_request() const {
    return started_ != ring_.posted.load(std::memory_order_acquire) || waits_for_memory_ ||
           immediate_due_.has_value();
  }
  /// Completes all that is posted: what had failed with its error, the rest as flushed.
  void flush();
  /// The peer's Terminate is about one of them: that one fails with it.
  void blame(const rdmap::Terminate& terminate);
  /// Lets go of the region where its octets are not needed any more. True: they are, and the stream
  /// has to end. `mid_message`: the last request started is not all framed.
  bool revoke(const Region& region, bool mid_message);
  std::uint64_t octets_placed() const { return octets_placed_; }

 private:
  enum class Local : std::uint8_t { kDone, kWait, kFailed };

  bool may_start(const SendSlot& slot, bool read_credit) const;
  Local run_local(SendSlot& slot);
  bool permitted(SendSlot& slot);
  bool resolve(SendSlot& slot);
  static void fill_request(SendSlot& slot, rdmap::Request& out);
  static void fill_sink(SendSlot& slot, rdmap::Request& out);
  void response_done(SendSlot& slot);
  void fail(SendSlot& slot, WcStatus status);
  void finish(SendSlot& slot);
  void retire();
  bool invalidate_sink(SendSlot& slot);
  void complete(SendSlot& slot, std::uint64_t sequence);

  QpShared& qp_;
  SendRing& ring_;
  std::uint64_t started_ = 0;        ///< posted >= started >= retired
  std::size_t reads_under_way_ = 0;  ///< and atomics
  /// The Write of this kWriteImmediate was given out, its Immediate comes next.
  std::optional<std::uint64_t> immediate_due_;
  bool waits_for_memory_ = false;  ///< an invalidate, until other streams let go of it
  std::uint64_t octets_placed_ = 0;
};

}  // namespace iwarp::verbs
