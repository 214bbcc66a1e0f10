// SPDX-License-Identifier: Apache-2.0
// Outbound: determines how many bytes of a stream may be sent now, from which offset in the send
// ring, and to which address in the peer's memory. The limits are the targets (memory that the peer
// has granted), the credits (number of messages that the peer accepts), the number of free send
// requests, and the number of free bytes in the ring. Outbound itself posts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "rsockets/streams/wire.hpp"

namespace iwarp::rdma_core::rsockets {

class Outbound {
 public:
  struct Options {
    std::uint32_t ring;      ///< size of the send ring in bytes
    std::uint32_t requests;  ///< size of the send queue, without the requests for control messages
    std::uint32_t per_message;  ///< number of requests that a Write and its message need
    std::uint16_t credits;      ///< the credits in the peer's greeting
    Target first;
  };
  /// A piece of the stream. The caller must copy `length` bytes to the offset `at` in the ring, and
  /// post a Write of these bytes to `address` in the peer's memory.
  struct Piece {
    std::size_t at;
    std::uint32_t length;
    std::uint64_t address;
    std::uint32_t key;
  };
  /// The maximum length of one Write, in bytes.
  static constexpr std::uint32_t kMaxTransfer = 65536;

  explicit Outbound(const Options& options);

  /// Returns whether there is enough room for sending to be worthwhile.
  bool ready() const;
  /// Returns whether there is enough room for take_direct() to be worthwhile.
  bool ready_direct() const;
  /// Reserves the requests, the credit and the memory for the next piece of the stream, which has
  /// at most `wanted` bytes. Returns nullopt if no byte can be sent now.
  std::optional<Piece> take(std::size_t wanted);
  /// Reserves up to `wanted` bytes of the ring for a Write to `address`. Such a Write has no
  /// message, and so needs no credit. Returns nullopt if no byte can be sent now.
  std::optional<Piece> take_direct(std::size_t wanted, std::uint64_t address, std::uint32_t key);
  /// Reserves the requests and the credit for a message and its Write, which does not use the ring.
  /// Returns false if they are not available now.
  bool take_message();

  /// Records that a request has completed, which frees `length` bytes of the ring.
  void completed(std::uint32_t length);
  /// Returns whether no request is outstanding.
  bool idle() const { return requests_ == options_.requests; }

  /// Sets the number of messages that may be sent in total, counted from the beginning of the
  /// connection. Returns false if the number is smaller than before, or exceeds the peer's credits.
  bool allow(std::uint16_t limit);
  /// Adds memory that the peer has granted. Returns false if the peer has granted too many targets,
  /// or if `target` is too long.
  bool add(const Target& target);

 private:
  bool has_ring() const;
  std::uint32_t chunk(std::size_t wanted) const;
  std::size_t advance(std::uint32_t length);
  bool has_credit() const { return sent_ != limit_; }

  const Options options_;
  std::deque<Target> targets_;
  std::uint32_t ring_free_;
  std::size_t ring_next_ = 0;
  std::uint32_t requests_;
  std::uint16_t sent_ = 0;
  std::uint16_t limit_;
};

}  // namespace iwarp::rdma_core::rsockets
