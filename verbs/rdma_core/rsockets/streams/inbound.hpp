// SPDX-License-Identifier: Apache-2.0
// Inbound: what the peer has said that it has written into the receive ring, what of it was read,
// and when room and credits are to be given back. The ring is given in halves, each filled to its
// end before the next. A message that claims more than was given is told from an honest one.
// Touches no octet of the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace iwarp::rdma_core::rsockets {

class Inbound {
 public:
  /// `ring` octets, an even number; `credits` messages may be on their way or unread.
  Inbound(std::uint32_t ring, std::uint16_t credits);

  /// The peer has written `length` octets. False: it had no room or no credit for them.
  bool arrived(std::uint32_t length);
  /// A message without octets came that took a credit. False: there was none.
  bool counted();

  std::size_t readable() const { return readable_; }
  struct Part {
    std::size_t at;
    std::size_t length;
  };
  /// The next `wanted` octets behind the first `skip`, as far as they lie in one piece.
  Part next(std::size_t wanted, std::size_t skip = 0) const;
  void consume(std::size_t length);

  struct Grant {
    std::uint16_t limit;              ///< messages since the beginning
    std::optional<std::size_t> half;  ///< begins here in the ring, and is free
  };
  bool grant_due() const;
  bool half_is_free() const { return free_ >= half_; }
  /// What to tell the peer now.
  Grant grant();

 private:
  const std::uint32_t half_;
  const std::uint16_t credits_;
  // Writing.
  std::uint32_t room_;              ///< left in the half that is being filled
  std::uint32_t whole_halves_ = 0;  ///< given behind it
  std::uint16_t came_ = 0;
  std::uint16_t limit_;
  // Reading.
  std::deque<std::uint32_t> unread_;  ///< of each message
  std::size_t readable_ = 0;
  std::size_t read_at_ = 0;
  std::uint16_t read_ = 0;  ///< messages
  // Giving back.
  std::size_t free_;
  std::size_t next_half_;
};

}  // namespace iwarp::rdma_core::rsockets
