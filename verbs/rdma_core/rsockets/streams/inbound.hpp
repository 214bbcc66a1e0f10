// SPDX-License-Identifier: Apache-2.0
// Inbound: counts the bytes that the peer has written into the receive ring according to its
// messages, and the bytes that were read, and determines when to return room and credits. The peer
// may use the ring in halves: it fills one to its end before the next. Inbound detects messages
// that exceed the room or the credits of the peer. It does not access the ring itself.
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
  /// credit for them.
  bool arrived(std::uint32_t length);
  /// Records a message without data, which also needs a credit. Returns false if the peer had no
  /// credit.
  bool counted();

  std::size_t readable() const { return readable_; }
  struct Part {
    std::size_t at;
    std::size_t length;
  };
  /// Skips `skip` unread bytes, and returns the place of the next bytes in the ring: at most
  /// `wanted` bytes, and only up to the end of the ring.
  Part next(std::size_t wanted, std::size_t skip = 0) const;
  void consume(std::size_t length);

  struct Grant {
    /// Number of messages that the peer may send, counted from the beginning of the connection.
    std::uint16_t limit;
    /// Offset of the free half in the ring; nullopt: grants no room.
    std::optional<std::size_t> half;
  };
  bool grant_due() const;
  bool half_is_free() const { return free_ >= half_; }
  /// Returns the credits and the room to grant to the peer now, and records them as granted.
  Grant grant();

 private:
  const std::uint32_t half_;
  const std::uint16_t credits_;
  // State of the peer's writes.
  std::uint32_t room_;              ///< bytes that remain in the half that the peer is filling
  std::uint32_t whole_halves_ = 0;  ///< number of halves that were granted after that one
  std::uint16_t came_ = 0;
  std::uint16_t limit_;
  // State of the application's reads.
  std::deque<std::uint32_t> unread_;  ///< number of unread bytes of each message
  std::size_t readable_ = 0;
  std::size_t read_at_ = 0;
  std::uint16_t read_ = 0;  ///< number of messages that were read
  // State of the grants.
  std::size_t free_;
  std::size_t next_half_;
};

}  // namespace iwarp::rdma_core::rsockets
