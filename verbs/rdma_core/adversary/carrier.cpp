// SPDX-License-Identifier: Apache-2.0
// The carrier of the adversary: at random moments it moves only some of the octets, or none for up
// to kLongestDelay, in either direction.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "adversary/dice.hpp"
#include "adversary/hooks.hpp"

namespace iwarp::rdma_core::adversary {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr microseconds kLongestDelay{2000};
// After the end of a delay, the next one does not begin before this time has passed or octets were
// sent, because the octets that wait must be sent in the meantime.
constexpr microseconds kRestOfDelay{100};

std::size_t octets_in(std::span<const iovec> plan) {
  std::size_t out = 0;
  for (const iovec& piece : plan) out += piece.iov_len;
  return out;
}

/// Returns the first `limit` octets of the plan.
std::vector<iovec> first_octets(std::span<const iovec> plan, std::size_t limit) {
  std::vector<iovec> out;
  for (const iovec& piece : plan) {
    const auto size = std::min(piece.iov_len, limit);
    if (size != 0) out.push_back({.iov_base = piece.iov_base, .iov_len = size});
    limit -= size;
  }
  return out;
}

/// One direction of a connection: whether it is delayed at present.
class Delay {
 public:
  bool is_on(Dice& dice) {
    const auto now = Clock::now();
    if (now < until_) return true;
    if (now < rested_) return false;
    rested_ = now + kRestOfDelay;
    if (!dice.one_in(3)) return false;
    until_ = now + dice.up_to(kLongestDelay);
    rested_ = until_ + kRestOfDelay;
    return now < until_;
  }
  void moved() { rested_ = {}; }

 private:
  Clock::time_point until_;
  Clock::time_point rested_;
};

class SlowCarrier final : public net::Carrier {
 public:
  SlowCarrier(std::uint64_t seed, net::CarrierSocket socket, std::unique_ptr<net::Carrier> below)
      : socket_(socket), below_(std::move(below)), dice_(seed, Dice::Kind::kCarrier) {}

  ssize_t send(std::span<const iovec> plan) override {
    const auto size = octets_in(plan);
    if (size == 0) return below_ != nullptr ? below_->send(plan) : 0;
    if (out_.is_on(dice_)) return again();
    const auto some = first_octets(plan, limit(size));
    const auto n = below_ != nullptr ? below_->send(some) : send_plain(some);
    if (n > 0) out_.moved();
    return n;
  }
  ssize_t receive(std::span<const iovec> plan) override {
    if (in_.is_on(dice_)) return again();
    const auto some = first_octets(plan, limit(octets_in(plan)));
    const auto n = below_ != nullptr ? below_->receive(some) : receive_plain(some);
    if (n > 0) in_.moved();
    return n;
  }
  bool holds_output() const override {
    return (below_ != nullptr && below_->holds_output()) || (!is_closing_ && out_.is_on(dice_));
  }
  bool holds_input() const override { return below_ != nullptr && below_->holds_input(); }
  void close() override {
    is_closing_ = true;
    if (below_ != nullptr) below_->close();
  }
  std::vector<std::byte> take_output() override {
    return below_ != nullptr ? below_->take_output() : std::vector<std::byte>();
  }
  const net::CarrierFailure* failure() const override {
    return below_ != nullptr ? below_->failure() : nullptr;
  }
  std::string peer_identity() const override {
    return below_ != nullptr ? below_->peer_identity() : std::string();
  }

 private:
  static ssize_t again() {
    errno = EAGAIN;
    return -1;
  }
  /// Chooses how many of `size` octets to move: mostly all of them.
  std::size_t limit(std::size_t size) const {
    return size > 1 && dice_.one_in(4) ? 1 + dice_.below(size - 1) : size;
  }
  ssize_t send_plain(std::span<const iovec> plan) const {
    return move(plan, [this](const iovec& piece) {
      return socket_.send({static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
    });
  }
  ssize_t receive_plain(std::span<const iovec> plan) const {
    return move(plan, [this](const iovec& piece) {
      return socket_.receive({static_cast<std::byte*>(piece.iov_base), piece.iov_len});
    });
  }
  template <typename Call>
  static ssize_t move(std::span<const iovec> plan, Call call) {
    ssize_t done = 0;
    for (const iovec& piece : plan) {
      const auto n = call(piece);
      if (n <= 0) return done != 0 ? done : n;
      done += n;
      if (static_cast<std::size_t>(n) < piece.iov_len) break;
    }
    return done;
  }

  const net::CarrierSocket socket_;
  const std::unique_ptr<net::Carrier> below_;
  mutable Dice dice_;
  mutable Delay out_;
  mutable Delay in_;
  bool is_closing_ = false;
};

class SlowCarriers final : public net::CarrierFactory {
 public:
  SlowCarriers(std::uint64_t seed, std::shared_ptr<const net::CarrierFactory> below)
      : seed_(seed), below_(std::move(below)) {}

  std::unique_ptr<net::Carrier> make(net::CarrierSocket socket,
                                     const std::string& host) const override {
    std::unique_ptr<net::Carrier> below;
    if (below_ != nullptr) {
      below = below_->make(socket, host);
      if (below == nullptr) return nullptr;
    }
    return std::make_unique<SlowCarrier>(seed_, socket, std::move(below));
  }

 private:
  const std::uint64_t seed_;
  const std::shared_ptr<const net::CarrierFactory> below_;
};

}  // namespace

std::shared_ptr<const net::CarrierFactory> make_carriers(
    std::uint64_t seed, std::shared_ptr<const net::CarrierFactory> below) {
  return std::make_shared<SlowCarriers>(seed, std::move(below));
}

}  // namespace iwarp::rdma_core::adversary
