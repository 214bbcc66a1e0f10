// SPDX-License-Identifier: Apache-2.0
// The two Read queues of a stream: requests of the peer that wait for their response (at most IRD),
// and our own that wait for theirs (at most ORD). RFC 5040 section 6.1. Both keep order.
#pragma once

#include <cassert>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::rdmap {

/// First in, first out, with a capacity fixed when it is made; nothing allocates afterwards.
template <typename T>
class BoundedFifo {
 public:
  explicit BoundedFifo(std::size_t capacity) : slots_(capacity) {}

  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == slots_.size(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_.size(); }

  void push(const T& value) {
    assert(!full());
    slots_[(head_ + size_) % slots_.size()] = value;
    ++size_;
  }
  T& front() { return slots_[head_]; }
  const T& front() const { return slots_[head_]; }
  void pop() {
    assert(!empty());
    head_ = (head_ + 1) % slots_.size();
    --size_;
  }
  void clear() { size_ = 0; }

 private:
  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

/// A Read Request of the peer.
struct InboundRequest {
  ReadRequest request;
  Msn msn;
};

/// A Read Request of ours whose response has not been delivered.
struct OutstandingRequest {
  Stag sink_stag;
  TaggedOffset sink_to;
  bytes::Span sink;
  std::uint32_t length = 0;
  std::uint32_t received = 0;
  std::uint64_t cookie = 0;
  bool internal = false;  ///< an RTR: nobody above hears of it
};

}  // namespace iwarp::rdmap
