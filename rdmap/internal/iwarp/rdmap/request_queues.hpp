// SPDX-License-Identifier: Apache-2.0
// The two request queues of a stream: one for the peer's Reads and Atomics that this end has not
// answered (at most IRD), and one for Reads and Atomics of this end that the peer has not answered
// (at most ORD). RFC 5040 section 6.1, RFC 7306 section 7. Reads and Atomics share a queue, because
// the responses to both are sent in the order in which the requests arrived. [EXT-56]
#pragma once

#include <cassert>
#include <variant>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::rdmap {

/// A first-in, first-out queue with a capacity that the constructor fixes. Only the constructor
/// allocates. Not thread-safe.
template <typename T>
class BoundedFifo {
 public:
  explicit BoundedFifo(std::size_t capacity) : slots_(capacity) {}

  /// Return whether the queue is empty or full, how many values it holds, and how many it can hold.
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == slots_.size(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_.size(); }

  /// Appends a value. Do not call while full().
  void push(const T& value) {
    assert(!full());
    slots_[(head_ + size_) % slots_.size()] = value;
    ++size_;
  }
  /// Returns the oldest value. Do not call while empty().
  T& front() { return slots_[head_]; }
  const T& front() const { return slots_[head_]; }
  /// Returns the value that follows the oldest one. Do not call if there is only one value.
  const T& second() const { return slots_[(head_ + 1) % slots_.size()]; }
  /// Removes the oldest value. Do not call while empty().
  void pop() {
    assert(!empty());
    head_ = (head_ + 1) % slots_.size();
    --size_;
  }
  /// Removes all values.
  void clear() { size_ = 0; }

 private:
  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

/// A Read or Atomic Request of the peer.
struct InboundRequest {
  std::variant<ReadRequest, AtomicRequest> request;
  Msn msn;  ///< MSN of the request
};

/// A request of this end whose response has not been delivered.
struct OutstandingRequest {
  Opcode response = Opcode::kReadResponse;  ///< opcode of the message that answers the request
  std::uint32_t id = 0;                     ///< Atomic: the Request Identifier
  Stag sink_stag;                           ///< Read: STag of the local buffer
  TaggedOffset sink_to;                     ///< Read: TO of the local buffer
  bytes::Span sink;                         ///< Read: the local buffer
  std::uint32_t length = 0;                 ///< Read: octets requested
  std::uint32_t received = 0;               ///< Read: octets that have arrived
  std::uint64_t cookie = 0;                 ///< Request::cookie of the request
  bool internal = false;  ///< the request is an RTR, whose completion the Ulp does not see
};

}  // namespace iwarp::rdmap
