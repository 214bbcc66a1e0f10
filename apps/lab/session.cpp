// SPDX-License-Identifier: Apache-2.0
// Performs an action, and then everything that follows from it immediately: sends octets, and logs
// events and completions.
#include "lab/session.hpp"

#include <algorithm>
#include <utility>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::lab {
namespace {

std::unexpected<std::string> no(std::string why) { return std::unexpected(std::move(why)); }

}  // namespace

Session::Session(const Settings& settings) : settings_(settings) {
  for (const Side side : {Side::kNear, Side::kFar}) {
    ends_[static_cast<std::size_t>(side)] = std::make_shared<End>(side, settings);
  }
}

Session::~Session() {
  // A connected queue pair and its driver, the End, own each other. Aborting the queue pair breaks
  // this cycle.
  for (const auto& end : ends_) (void)end->qp().abort();
}

std::expected<void, std::string> Session::apply(const Action& action) {
  Applied applied;
  if (link_.is_full()) return no("the session is too long (begin a new one)");
  switch (action.verb) {
    case Verb::kDeliver:
      applied = deliver(action.numbers[0]);
      break;
    case Verb::kConnect:
      if (link_.is_cut() || link_.sent(Side::kNear) != 0)
        return no("the link is cut, or the ends have connected before");
      at(Side::kNear).connection().connect({}, now_);
      break;
    case Verb::kFlip:
      applied = flip(action);
      break;
    case Verb::kClose:
      if (at(action.end).qp().disconnect()) return no("this end is not connected");
      break;
    case Verb::kCut:
      if (link_.is_cut()) return no("the link is already cut");
      link_.cut();
      for (const auto& end : ends_) end->connection().lost(now_);
      break;
    case Verb::kWait:
      applied = wait();
      break;
    default:
      applied = at(action.end).post(action, at(other(action.end)), now_);
  }
  if (applied) settle();
  return applied;
}

std::optional<Session::Due> Session::due() {
  const Segment* const segment = link_.next();
  if (segment == nullptr) return std::nullopt;
  return Due{.from = segment->from,
             .octets = segment->octets.size() - segment->arrived,
             .begun = segment->arrived != 0};
}

Session::Applied Session::deliver(std::size_t octets) {
  Segment* const segment = link_.next();
  if (segment == nullptr) return no("nothing is in flight");
  const auto left = segment->octets.size() - segment->arrived;
  if (octets > left || (octets == 0) != (left == 0)) return no("fewer octets are in flight");
  now_ = std::max(now_, link_.due(*segment) + Link::time_of(octets));
  arrive(*segment, octets);
  return {};
}

/// Delivers octets to the receiver. If the receiver no longer reads, discards the remaining octets,
/// as TCP would.
void Session::arrive(Segment& segment, std::size_t octets) {
  verbs::Connection& to = at(other(segment.from)).connection();
  if (segment.kind != Segment::Kind::kOctets) {
    segment.over = true;
    if (segment.kind == Segment::Kind::kFin) {
      to.peer_closed(now_);
    } else {
      to.lost(now_);
    }
    return;
  }
  auto rest = bytes::View(segment.octets).subspan(segment.arrived, octets);
  segment.arrived += octets;
  segment.over = segment.arrived == segment.octets.size();
  while (!rest.empty()) {
    std::size_t filled = 0;
    for (const bytes::Span piece : to.receive_plan()) {
      const auto n = std::min(piece.size(), rest.size());
      std::copy_n(rest.begin(), n, piece.begin());
      rest = rest.subspan(n);
      filled += n;
    }
    if (filled == 0) return;
    to.received(filled, now_);
  }
}

Session::Applied Session::flip(const Action& action) {
  std::byte* const octet = link_.in_flight(action.end, action.numbers[0]);
  if (octet == nullptr) return no("that octet is not in flight");
  *octet ^= std::byte{0x80} >> (action.numbers[1] % 8);
  return {};
}

Session::Applied Session::wait() {
  std::optional<TimePoint> next;
  for (const auto& end : ends_) {
    const auto timeout = end->connection().timeout();
    if (timeout && (!next || *timeout < *next)) next = timeout;
  }
  if (!next) return no("no timer is running");
  now_ = std::max(now_, *next);
  for (const auto& end : ends_) {
    const auto timeout = end->connection().timeout();
    if (timeout && *timeout <= now_) end->connection().handle_timeout(now_);
  }
  return {};
}

void Session::settle() {
  for (bool moved = true; moved && !link_.is_full();) {
    moved = false;
    for (const Side side : {Side::kNear, Side::kFar}) {
      moved |= at(side).resume(now_);
      moved |= at(side).look(now_);
      moved |= pump(side);
    }
  }
}

/// Sends the octets that the connection has ready, one FPDU per segment. If there are none,
/// performs the close or reset that the connection requests for its socket. Returns whether it has
/// sent octets.
bool Session::pump(Side side) {
  constexpr std::size_t kPieces = 64;
  verbs::Connection& connection = at(side).connection();
  const auto plan = connection.transmit_plan(kPieces, now_);
  std::vector<std::byte> octets;
  for (const bytes::View piece : plan) octets.insert(octets.end(), piece.begin(), piece.end());
  if (!octets.empty()) {
    const auto n = octets.size();
    if (!link_.is_cut()) link_.send(side, std::move(octets), now_);
    connection.transmitted(n, now_);
    return true;
  }
  const auto action = connection.socket_action();
  if (action != verbs::SocketAction::kNone && !link_.is_cut()) {
    link_.finish(side, action == verbs::SocketAction::kReset, now_);
  }
  return false;
}

}  // namespace iwarp::apps::lab
