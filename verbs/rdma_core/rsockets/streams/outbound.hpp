// SPDX-License-Identifier: Apache-2.0
// Outbound: how much of a stream may be sent now, from where in the send ring to where in the
// peer's memory. Three things bound it: targets (room that the peer has given), credits (messages
// that the peer will take), and what is still under way (send requests and the ring). Posts
// nothing.
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
    std::uint32_t ring;         ///< octets
    std::uint32_t requests;     ///< on the send queue, without those of control messages
    std::uint32_t per_message;  ///< requests that a Write with its message takes
    std::uint16_t credits;      ///< of the peer's greeting
    Target first;
  };
  /// What is copied to the ring at `at`, and written from there.
  struct Piece {
    std::size_t at;
    std::uint32_t length;
    std::uint64_t address;
    std::uint32_t key;
  };
  /// No transfer is longer.
  static constexpr std::uint32_t kMaxTransfer = 65536;

  explicit Outbound(const Options& options);

  /// Enough room that sending is worth it.
  bool ready() const;
  /// The same for take_direct().
  bool ready_direct() const;
  /// The next part of `wanted` octets of the stream; nullopt: not now.
  std::optional<Piece> take(std::size_t wanted);
  /// The same for a Write to memory of its own, without a message or a credit: at most `wanted`,
  /// and where in the ring.
  std::optional<Piece> take_direct(std::size_t wanted, std::uint64_t address, std::uint32_t key);
  /// A Write of a few octets that are not in the ring, with a message. False: not now.
  bool take_message();

  /// A request is done, with `length` octets of the ring.
  void completed(std::uint32_t length);
  /// Nothing is under way.
  bool idle() const { return requests_ == options_.requests; }

  /// A message says how many may be sent. False: less than before, or more than the peer has.
  bool allow(std::uint16_t limit);
  /// The peer has given more room. False: more than there can be.
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
