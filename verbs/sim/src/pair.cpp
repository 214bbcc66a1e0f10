// SPDX-License-Identifier: Apache-2.0
// Moves octets between two ends. The seed picks the size of each segment.
#include "iwarp/sim/pair.hpp"

namespace iwarp::sim {

std::size_t Direction::send(std::size_t limit) {
  const auto n = from_->transmit(limit, [this](View piece) { put(piece); });
  sent_after_fin |= fin && n != 0;
  return n;
}

void Direction::finish() {
  if (!from_->connection->transmit_plan(1, from_->now).empty()) return;
  const auto action = from_->connection->socket_action();
  reset |= action == verbs::SocketAction::kReset;
  fin |= action != verbs::SocketAction::kNone && action != verbs::SocketAction::kReset;
}

std::size_t Direction::deliver(std::size_t limit) {
  const auto n = to_->receive(in_flight().first(std::min(limit, in_flight().size())));
  arrived += n;
  return n;
}

bool Direction::deliver_end() {
  const bool here = reset || (fin && in_flight().empty());
  if (!here || over || (!reset && to_->connection->delays_fin())) return false;
  over = true;
  if (reset) {
    lose();
    to_->connection->lost(to_->now);
  } else {
    to_->connection->peer_closed(to_->now);
  }
  return true;
}

Pair::Pair(const verbs::ConnectionOptions& initiator, const verbs::ConnectionOptions& responder,
           const LinkOptions& link, const verbs::QpInit& init_a, const verbs::QpInit& init_b)
    : a(std::make_shared<End>(link.seed * 2 + 1, now, init_a)),
      b(std::make_shared<End>(link.seed * 2 + 2, now, init_b)),
      to_b(*a, *b),
      to_a(*b, *a),
      link_(link),
      random_(link.seed) {
  renew(initiator, responder);
}

Pair::~Pair() {
  (void)a->qp->abort();
  (void)b->qp->abort();
}

void Pair::renew(const verbs::ConnectionOptions& initiator,
                 const verbs::ConnectionOptions& responder) {
  a->open(mpa::Role::kInitiator, initiator);
  b->open(mpa::Role::kResponder, responder);
  to_b = Direction(*a, *b);
  to_a = Direction(*b, *a);
}

bool Pair::establish(std::uint16_t ird, std::uint16_t ord) {
  if (!a->connection->connect(View{}, now)) return false;
  run();
  if (b->event() != verbs::ConnectionEvent::Type::kRequest) return false;
  if (!b->connection->accept(*b->qp, View{}, ird, ord, now)) return false;
  run();
  return a->qp->state() == verbs::QpState::kRts && b->qp->state() == verbs::QpState::kRts;
}

void Pair::run() {
  while (step()) {
  }
}

bool Pair::step() {
  bool moved = a->wake();
  moved |= b->wake();
  moved |= send(to_b);
  moved |= send(to_a);
  moved |= deliver(to_b);
  moved |= deliver(to_a);
  return moved;
}

void Pair::advance(mpa::Duration by) {
  now += by;
  a->expire();
  b->expire();
  run();
}

std::size_t Pair::pick() {
  return std::uniform_int_distribution<std::size_t>(1, link_.max_segment)(random_);
}

bool Pair::send(Direction& way) {
  const auto n = way.send(pick());
  way.finish();
  return n != 0;
}

bool Pair::deliver(Direction& way) {
  // TCP is reset in both directions.
  to_a.reset = to_b.reset = was_reset() || to_b.arrived >= link_.reset_at;
  if (way.reset) return way.deliver_end();
  const auto limit = &way == &to_b ? link_.reset_at - to_b.arrived : SIZE_MAX;
  return way.deliver(std::min(pick(), limit)) != 0 || way.deliver_end();
}

}  // namespace iwarp::sim
