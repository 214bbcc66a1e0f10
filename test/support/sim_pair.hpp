// SPDX-License-Identifier: Apache-2.0
// Two connections joined by a simulated link in memory. A seed chooses the segment sizes, the clock
// is virtual, and the link can break at any octet. There are no sockets, threads or sleeps: the
// test performs every step.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "iwarp/rdmap/faults.hpp"
#include "iwarp/verbs/connection.hpp"
#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/shared_receive_queue.hpp"

namespace iwarp::test {

using namespace std::chrono_literals;  // NOLINT: durations in tests
using bytes::Span;
using bytes::View;
using mpa::Role;
using mpa::TimePoint;

/// Size of a Request or Reply if RFC 7306 is the only extension that both ends announce.
inline constexpr std::size_t kPlainFrame = mpa::startup_frame_size(mpa::kExtensionsTagSize);
inline constexpr std::size_t kEnhancedFrame = kPlainFrame + mpa::kEnhancedWordSize;

/// One end of the link, with its own STag table, queues, memory and connection.
class End final : public verbs::QpDriver {
 public:
  explicit End(std::uint32_t seed, verbs::QpInit init = {})
      : random_(seed),
        stags(1024, [this] { return static_cast<std::uint32_t>(random_()); }),
        cq(4096, [this] {
          ++notifications;
          if (on_notify) on_notify();
        }) {
    init.pd = 1;
    if (init.send_cq == nullptr) init.send_cq = &cq;
    if (init.recv_cq == nullptr) init.recv_cq = &cq;
    qp = std::make_unique<verbs::QueuePair>(
        7, init, stags, [this](const verbs::AsyncEvent& e) { async.push_back(e); });
  }

  // Implements verbs::QpDriver.
  bool posted(verbs::Doorbell) override { return false; }
  void receive_posted() override { connection->resume(now); }
  void resume_soon() override { resume_due = true; }
  void break_pins(verbs::Stag stag) override { to_break.push_back(stag); }
  void disconnect() override { connection->disconnect(now); }
  void terminate() override { connection->terminate(rdmap::kLocalCatastrophic, now); }
  void abort() override { connection->abort(now); }

  /// Registers `octets` octets of zeroed memory, with guard octets before and after it.
  verbs::Region* memory(std::size_t octets, verbs::Access access, bool only_for_qp = false) {
    auto& block = blocks_.emplace_back(octets + 2 * kGuard, kGuardOctet);
    std::fill(block.begin() + kGuard, block.end() - static_cast<long>(kGuard), std::byte{0});
    auto region = stags.create({.kind = verbs::Region::Kind::kRegion,
                                .pd = 1,
                                .qp = only_for_qp ? qp->num() : 0,
                                .address = block.data() + kGuard,
                                .length = octets,
                                .access = access});
    return *region;
  }
  /// Returns whether all guard octets around the registered memory are unchanged.
  bool guards_intact() const {
    for (const auto& block : blocks_) {
      for (std::size_t i = 0; i < kGuard; ++i) {
        if (block[i] != kGuardOctet || block[block.size() - 1 - i] != kGuardOctet) return false;
      }
    }
    return true;
  }
  std::vector<verbs::WorkCompletion> completions() {
    std::vector<verbs::WorkCompletion> out(256);
    out.resize(cq.poll(out));
    return out;
  }
  std::optional<verbs::ConnectionEvent::Type> event() {
    const auto e = connection->event();
    if (!e) return std::nullopt;
    last_failure = e->failure;
    return e->type;
  }

  static constexpr std::size_t kGuard = 64;
  static constexpr std::byte kGuardOctet{0xA5};

 private:
  std::mt19937 random_;
  std::deque<std::vector<std::byte>> blocks_;

 public:
  verbs::StagTable stags;
  verbs::CompletionQueue cq;
  std::vector<verbs::AsyncEvent> async;
  std::unique_ptr<verbs::QueuePair> qp;
  /// Tap of every connection that this end creates after the tap is set.
  std::unique_ptr<verbs::WireTap> tap;
  std::unique_ptr<verbs::Connection> connection;
  std::optional<mpa::Failure> last_failure;
  TimePoint now{};
  int notifications = 0;
  std::function<void()> on_notify;
  bool resume_due = false;
  std::vector<verbs::Stag> to_break;
};

struct LinkOptions {
  std::uint32_t seed = 1;
  /// Maximum number of octets moved per step. The seed picks the actual number.
  std::size_t max_segment = 100'000;
  /// The offset in the stream from initiator to responder at which the link breaks. Both ends then
  /// see a reset.
  std::size_t reset_at = SIZE_MAX;
};

/// The state of one direction of the link.
struct Direction {
  std::deque<std::byte> wire;
  std::vector<std::byte> log;  ///< all octets ever sent
  bool fin = false;
  bool fin_delivered = false;
  bool sent_after_fin = false;  ///< set if a connection sent octets after its FIN
};

class Pair {
 public:
  explicit Pair(const verbs::ConnectionOptions& initiator = {},
                const verbs::ConnectionOptions& responder = {}, const LinkOptions& link = {},
                verbs::QpInit init_a = {}, verbs::QpInit init_b = {})
      : a(std::make_shared<End>(link.seed * 2 + 1, init_a)),
        b(std::make_shared<End>(link.seed * 2 + 2, init_b)),
        link_(link),
        random_(link.seed) {
    renew(initiator, responder);
  }
  ~Pair() {
    // While connected, each queue pair shares ownership of the End that owns it. abort() breaks
    // this cycle.
    a->qp->abort();
    b->qp->abort();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  /// Creates a new TCP connection between the same two queue pairs.
  void renew(const verbs::ConnectionOptions& initiator, const verbs::ConnectionOptions& responder) {
    a->connection = std::make_unique<verbs::Connection>(Role::kInitiator, a->qp.get(), *a,
                                                        initiator, a->tap.get());
    b->connection =
        std::make_unique<verbs::Connection>(Role::kResponder, nullptr, *b, responder, b->tap.get());
    b->connection->listen(b->now);
    to_a = {};
    to_b = {};
    delivered_to_b_ = 0;
    reset_ = false;
  }

  /// Connects and accepts. Returns whether both ends are in RTS.
  bool establish(std::uint16_t ird = 16, std::uint16_t ord = 16) {
    if (!a->connection->connect(View{}, a->now)) return false;
    run();
    if (b->event() != verbs::ConnectionEvent::Type::kRequest) return false;
    if (!b->connection->accept(*b->qp, View{}, ird, ord, b->now)) return false;
    run();
    return a->qp->state() == verbs::QpState::kRts && b->qp->state() == verbs::QpState::kRts;
  }

  /// Steps until nothing moves any more.
  void run() {
    int idle = 0;
    for (int i = 0; i < 2'000'000 && idle < 3; ++i) idle = step() ? 0 : idle + 1;
  }

  /// Moves one segment in each direction. Returns whether anything moved.
  bool step() {
    bool moved = resume(*a);
    moved |= resume(*b);
    moved |= transmit(*a, to_b);
    moved |= transmit(*b, to_a);
    moved |= deliver(to_b, *b);
    moved |= deliver(to_a, *a);
    return moved;
  }

  bool was_reset() const { return reset_; }

  /// Called after transmit_plan() and before the planned octets are transmitted.
  std::function<void()> on_plan;

  /// Advances virtual time at both ends.
  void advance(mpa::Duration by) {
    for (End* end : {a.get(), b.get()}) {
      end->now += by;
      const auto t = end->connection->timeout();
      if (t && *t <= end->now) end->connection->handle_timeout(end->now);
    }
    run();
  }

  std::shared_ptr<End> a;  ///< initiator
  std::shared_ptr<End> b;  ///< responder
  Direction to_b;
  Direction to_a;

 private:
  std::size_t pick() {
    return std::uniform_int_distribution<std::size_t>(1, link_.max_segment)(random_);
  }

  static bool resume(End& end) {
    for (const auto stag : std::exchange(end.to_break, {})) {
      const auto held = end.stags.hold_invalid(stag);
      if (held.region() != nullptr) end.connection->withdraw(*held.region(), end.now);
    }
    if (!std::exchange(end.resume_due, false)) return false;
    end.connection->resume(end.now);
    return true;
  }

  bool transmit(End& from, Direction& out) {
    const auto plan = from.connection->transmit_plan(64, from.now);
    if (on_plan) on_plan();
    auto left = std::min(pick(), bytes::total_size(plan));
    const auto n = left;
    for (const View piece : plan) {
      const auto take = std::min(left, piece.size());
      out.wire.insert(out.wire.end(), piece.begin(), piece.begin() + static_cast<long>(take));
      out.log.insert(out.log.end(), piece.begin(), piece.begin() + static_cast<long>(take));
      left -= take;
    }
    out.sent_after_fin |= out.fin && n != 0;
    if (n != 0) from.connection->transmitted(n, from.now);
    const auto rest = from.connection->transmit_plan(64, from.now);
    if (rest.empty()) do_socket_action(from, out);
    return n != 0;
  }

  void do_socket_action(End& from, Direction& out) {
    switch (from.connection->socket_action()) {
      case verbs::SocketAction::kShutdownSend:
      case verbs::SocketAction::kClose:
      case verbs::SocketAction::kDepart:
        out.fin = true;
        break;
      case verbs::SocketAction::kReset:
        reset_ = true;
        break;
      case verbs::SocketAction::kNone:
        break;
    }
  }

  bool deliver(Direction& in, End& to) {
    if (&in == &to_b && delivered_to_b_ >= link_.reset_at) reset_ = true;
    if (reset_) {
      if (in.fin_delivered) return false;
      in.fin_delivered = true;
      in.wire.clear();
      to.connection->lost(to.now);
      return true;
    }
    const auto plan = to.connection->receive_plan();
    auto left = std::min({pick(), bytes::total_size(plan), in.wire.size()});
    if (&in == &to_b) left = std::min(left, link_.reset_at - delivered_to_b_);
    const auto n = left;
    for (const Span piece : plan) {
      const auto take = std::min(left, piece.size());
      std::copy_n(in.wire.begin(), take, piece.begin());
      in.wire.erase(in.wire.begin(), in.wire.begin() + static_cast<long>(take));
      left -= take;
    }
    if (n != 0) {
      if (&in == &to_b) delivered_to_b_ += n;
      to.connection->received(n, to.now);
      return true;
    }
    if (!in.fin || in.fin_delivered || !in.wire.empty()) return false;
    in.fin_delivered = true;
    to.connection->peer_closed(to.now);
    return true;
  }

  LinkOptions link_;
  std::mt19937 random_;
  std::size_t delivered_to_b_ = 0;
  bool reset_ = false;
};

inline verbs::Sge sge(const verbs::Region* region, std::size_t offset, std::size_t length) {
  return {.address = region->address + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = verbs::Stag{region->stag.load()}};
}
inline verbs::RemoteAddress remote(const verbs::Region* region, std::size_t offset = 0) {
  return {.rkey = verbs::Stag{region->stag.load()}, .to = region->to_base + offset};
}
inline void fill_pattern(const verbs::Region* region, unsigned seed = 1) {
  for (std::size_t i = 0; i < region->length; ++i) {
    region->address[i] = static_cast<std::byte>((i * 131 + i / 251 + seed) & 0xFF);
  }
}
inline bool same(const verbs::Region* x, const verbs::Region* y, std::size_t length) {
  return std::memcmp(x->address, y->address, length) == 0;
}

}  // namespace iwarp::test
