// SPDX-License-Identifier: Apache-2.0
// Inbound: counts what the peer reports having written into the receive ring, and what was read,
// and determines when to return room and credits. The ring is granted in halves, each filled to its
// end before the next. Detects messages that claim more than was granted. Does not access the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace iwarp::rdma_core::rsockets {

class Inbound {
 public:
  /// `ring` is its size in bytes, an even number. At most `credits` messages may be in flight or
  /// unread.
  Inbound(std::uint32_t ring, std::uint16_t credits);

  /// Records that the peer has written `length` bytes. Returns false if it had no room or no credit
  /// for them.
  bool arrived(std::uint32_t length);
  /// Records a message without data, which takes a credit. Returns false if the peer had none.
  bool counted();

  std::size_t readable() const { return readable_; }
  struct Part {
    std::size_t at;
    std::size_t length;
  };
  /// Returns what is contiguous in the ring of the next `wanted` bytes after the first `skip`.
  Part next(std::size_t wanted, std::size_t skip = 0) const;
  void consume(std::size_t length);

  struct Grant {
    std::uint16_t limit;              ///< messages since the connection was established
    std::optional<std::size_t> half;  ///< where in the ring the free half begins
  };
  bool grant_due() const;
  bool half_is_free() const { return free_ >= half_; }
  /// Returns what to grant to the peer now.
  Grant grant();

 private:
  const std::uint32_t half_;
  const std::uint16_t credits_;
  // Writing.
  std::uint32_t room_;              ///< remaining in the half that is being filled
  std::uint32_t whole_halves_ = 0;  ///< granted after that half
  std::uint16_t came_ = 0;
  std::uint16_t limit_;
  // Reading.
  std::deque<std::uint32_t> unread_;  ///< bytes of each message
  std::size_t readable_ = 0;
  std::size_t read_at_ = 0;
  std::uint16_t read_ = 0;  ///< messages
  // Granting.
  std::size_t free_;
  std::size_t next_half_;
};

}  // namespace iwarp::rdma_core::rsockets
