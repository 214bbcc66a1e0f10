// SPDX-License-Identifier: Apache-2.0
// Outbound: how much of a stream may be sent now, from where in the send ring to where in the
// peer's memory. Three things limit it: targets (room that the peer has granted), credits (messages
// that the peer accepts), and what is outstanding (send requests and the ring). Posts nothing.
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
    std::uint32_t ring;         ///< bytes
    std::uint32_t requests;     ///< size of the send queue, without control messages
    std::uint32_t per_message;  ///< requests for a Write with its message
    std::uint16_t credits;      ///< from the peer's greeting
    Target first;
  };
  /// What to copy into the ring at `at`, and to write from there.
  struct Piece {
    std::size_t at;
    std::uint32_t length;
    std::uint64_t address;
    std::uint32_t key;
  };
  /// Maximum length of a transfer.
  static constexpr std::uint32_t kMaxTransfer = 65536;

  explicit Outbound(const Options& options);

  /// Returns whether there is enough room for sending to be worthwhile.
  bool ready() const;
  /// Returns whether there is enough room for take_direct() to be worthwhile.
  bool ready_direct() const;
  /// Takes the next part of `wanted` bytes of the stream. Returns nullopt if none can be sent now.
  std::optional<Piece> take(std::size_t wanted);
  /// Takes up to `wanted` bytes for a Write to `address`, without a message or a credit. Returns
  /// nullopt if none can be sent now.
  std::optional<Piece> take_direct(std::size_t wanted, std::uint64_t address, std::uint32_t key);
  /// Takes what a message and its Write from outside of the ring need. Returns false if it cannot
  /// be sent now.
  bool take_message();

  /// Records that a request has completed, which frees `length` bytes of the ring.
  void completed(std::uint32_t length);
  /// Returns whether nothing is outstanding.
  bool idle() const { return requests_ == options_.requests; }

  /// Sets how many messages may be sent. Returns false if that is fewer than before, or more than
  /// the peer has room for.
  bool allow(std::uint16_t limit);
  /// Adds room that the peer has granted. Returns false if that is more than there can be.
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
