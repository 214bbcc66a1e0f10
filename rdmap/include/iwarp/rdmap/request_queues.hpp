// SPDX-License-Identifier: Apache-2.0
// The two request queues of a stream: Reads and Atomics of the peer that wait for their response
// (at most IRD), and our own that wait for theirs (at most ORD). RFC 5040 section 6.1, RFC 7306
// section
// 7. Each is one queue for both kinds, because requests and responses keep their order. [EXT-56]
#pragma once

#include <cassert>
#include <variant>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
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

/// A Read or Atomic Request of the peer.
struct InboundRequest {
  std::variant<ReadRequest, AtomicRequest> request;
  Msn msn;
};

/// A request of ours whose response has not been delivered.
struct OutstandingRequest {
  Opcode response = Opcode::kReadResponse;  ///< what has to come next
  std::uint32_t id = 0;                     ///< Atomic: Request Identifier
  Stag sink_stag;                           ///< this and what follows: Read
  TaggedOffset sink_to;
  bytes::Span sink;
  std::uint32_t length = 0;
  std::uint32_t received = 0;
  std::uint64_t cookie = 0;
  bool internal = false;  ///< an RTR: not reported to the layer above
};

}  // namespace iwarp::rdmap
