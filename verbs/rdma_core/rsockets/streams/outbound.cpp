// SPDX-License-Identifier: Apache-2.0
// Outbound: the arithmetic of the send ring, of targets and of credits. Small remainders of the
// ring are not used, because a slow peer would then cause tiny messages.
#include "rsockets/streams/outbound.hpp"

#include <algorithm>

namespace iwarp::rdma_core::rsockets {

Outbound::Outbound(const Options& options)
    : options_(options),
      targets_{options.first},
      ring_free_(options.ring),
      requests_(options.requests),
      limit_(options.credits) {}

bool Outbound::ready() const {
  return requests_ >= options_.per_message && has_ring() && has_credit() && !targets_.empty();
}

bool Outbound::ready_direct() const { return requests_ != 0 && has_ring(); }

// Returns whether at least 2048 bytes of the ring are free. Without this minimum, a slow peer would
// cause the stream to be sent in tiny messages.
bool Outbound::has_ring() const {
  constexpr std::uint32_t kWorthIt = 2048;
  return ring_free_ >= std::min(kWorthIt, options_.ring);
}

// Returns how many of the `wanted` bytes can be sent with one Write. The bytes must be contiguous
// in the ring, and there may be at most kMaxTransfer of them.
std::uint32_t Outbound::chunk(std::size_t wanted) const {
  const std::size_t most =
      std::min<std::size_t>({wanted, kMaxTransfer, ring_free_, options_.ring - ring_next_});
  return static_cast<std::uint32_t>(most);
}

std::size_t Outbound::advance(std::uint32_t length) {
  const std::size_t at = ring_next_;
  ring_next_ = (ring_next_ + length) % options_.ring;
  ring_free_ -= length;
  return at;
}

std::optional<Outbound::Piece> Outbound::take(std::size_t wanted) {
  if (!ready() || wanted == 0) return std::nullopt;
  Target& target = targets_.front();
  const std::uint32_t length = std::min(chunk(wanted), target.length);
  const Piece out{advance(length), length, target.address, target.key};
  requests_ -= options_.per_message;
  ++sent_;
  target.address += length;
  target.length -= length;
  if (target.length == 0) targets_.pop_front();
  return out;
}

std::optional<Outbound::Piece> Outbound::take_direct(std::size_t wanted, std::uint64_t address,
                                                     std::uint32_t key) {
  if (!ready_direct() || wanted == 0) return std::nullopt;
  const std::uint32_t length = chunk(wanted);
  --requests_;
  return Piece{advance(length), length, address, key};
}

bool Outbound::take_message() {
  if (requests_ < options_.per_message || !has_credit()) return false;
  requests_ -= options_.per_message;
  ++sent_;
  return true;
}

void Outbound::completed(std::uint32_t length) {
  ++requests_;
  ring_free_ += length;
}

bool Outbound::allow(std::uint16_t limit) {
  const auto ahead = static_cast<std::uint16_t>(limit - sent_);
  const auto before = static_cast<std::uint16_t>(limit_ - sent_);
  if (ahead > options_.credits || ahead < before) return false;
  limit_ = limit;
  return true;
}

bool Outbound::add(const Target& target) {
  if (targets_.size() == kTargets || target.length > kMaxValue) return false;
  targets_.push_back(target);
  return true;
}

}  // namespace iwarp::rdma_core::rsockets
