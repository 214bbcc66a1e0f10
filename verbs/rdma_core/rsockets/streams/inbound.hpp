// SPDX-License-Identifier: Apache-2.0
// Inbound: counts the bytes that the peer, according to its messages, has written into the receive
// ring, and the bytes that the application has read. It determines when this end grants room and
// credits to the peer again. The peer uses the ring in halves: it fills one half to its end before
// it uses the other half. Inbound detects messages that exceed the room or the credits of the peer.
// It does not access the ring itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace iwarp::rdma_core::rsockets {

class Inbound {
 public:
  /// `ring` is the size of the ring in bytes, an even number. At most `credits` messages may be in
  /// flight or unread.
  Inbound(std::uint32_t ring, std::uint16_t credits);

  /// Records that the peer has written `length` bytes. Returns false if the peer had no room or no
  /// credit for these bytes.
  bool arrived(std::uint32_t length);
  /// Records a message without data, for which the peer also needs a credit. Returns false if the
  /// peer had no credit.
  bool counted();

  std::size_t readable() const { return readable_; }
  struct Part {
    std::size_t at;
    std::size_t length;
  };
  /// Skips the first `skip` unread bytes, and returns the part of the ring that contains the unread
  /// bytes that follow. The part has at most `wanted` bytes, and does not extend past the end of
  /// the ring.
  Part next(std::size_t wanted, std::size_t skip = 0) const;
  void consume(std::size_t length);

  struct Grant {
    /// The number of messages that the peer may send in total, counted from the beginning of the
    /// connection.
    std::uint16_t limit;
    /// The offset in the ring of the half that is granted, or nullopt if no room is granted.
    std::optional<std::size_t> half;
  };
  bool grant_due() const;
  bool half_is_free() const { return free_ >= half_; }
  /// Returns the credits and the room that are granted to the peer now, and records them as
  /// granted.
  Grant grant();

 private:
  const std::uint32_t half_;
  const std::uint16_t credits_;
  // The next four members describe what the peer has written and may still write.
  std::uint32_t room_;  ///< number of bytes that remain in the half that the peer is filling
  /// Number of halves that were granted after the one that the peer is filling.
  std::uint32_t whole_halves_ = 0;
  std::uint16_t received_ = 0;
  std::uint16_t limit_;
  // The next four members describe what the application has read.
  std::deque<std::uint32_t> unread_;  ///< number of unread bytes of each message
  std::size_t readable_ = 0;
  std::size_t read_at_ = 0;
  std::uint16_t read_ = 0;  ///< number of messages that were read
  // The last two members describe what this end can grant to the peer next.
  std::size_t free_;
  std::size_t next_half_;
};

}  // namespace iwarp::rdma_core::rsockets
