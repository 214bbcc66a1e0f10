// SPDX-License-Identifier: Apache-2.0
// Inbound: the arithmetic of the receive ring and its halves, and when room and credits are granted
// again.
#include "rsockets/streams/inbound.hpp"

#include <algorithm>

namespace iwarp::rdma_core::rsockets {

// The greeting has granted the first half of the ring to the peer. The second half is free, and may
// be granted immediately.
Inbound::Inbound(std::uint32_t ring, std::uint16_t credits)
    : half_(ring / 2),
      credits_(credits),
      room_(half_),
      limit_(credits),
      free_(half_),
      next_half_(half_) {}

bool Inbound::arrived(std::uint32_t length) {
  if (room_ == 0 && whole_halves_ != 0) {
    --whole_halves_;
    room_ = half_;
  }
  if (length == 0 || length > room_ || received_ == limit_) return false;
  ++received_;
  room_ -= length;
  unread_.push_back(length);
  readable_ += length;
  return true;
}

// If all earlier messages have been read, immediately counts this message as read. Otherwise the
// message counts as read when the earlier messages have been read.
bool Inbound::counted() {
  if (received_ == limit_) return false;
  ++received_;
  if (unread_.empty()) {
    ++read_;
  } else {
    unread_.push_back(0);
  }
  return true;
}

Inbound::Part Inbound::next(std::size_t wanted, std::size_t skip) const {
  const std::size_t ring = std::size_t{half_} * 2;
  const std::size_t at = (read_at_ + skip) % ring;
  return {at, std::min({wanted, readable_ - skip, ring - at})};
}

void Inbound::consume(std::size_t length) {
  readable_ -= length;
  free_ += length;
  read_at_ = (read_at_ + length) % (std::size_t{half_} * 2);
  while (!unread_.empty() && unread_.front() <= length) {
    length -= unread_.front();
    unread_.pop_front();
    ++read_;
  }
  if (length != 0) unread_.front() -= static_cast<std::uint32_t>(length);
}

bool Inbound::grant_due() const {
  const auto given = static_cast<std::uint16_t>(limit_ - credits_);
  const auto read_since = static_cast<std::uint16_t>(read_ - given);
  return half_is_free() || read_since >= std::max(credits_ / 2, 1);
}

Inbound::Grant Inbound::grant() {
  limit_ = static_cast<std::uint16_t>(read_ + credits_);
  Grant out{.limit = limit_, .half = std::nullopt};
  if (!half_is_free()) return out;
  out.half = next_half_;
  free_ -= half_;
  ++whole_halves_;
  next_half_ = next_half_ == 0 ? half_ : 0;
  return out;
}

}  // namespace iwarp::rdma_core::rsockets
