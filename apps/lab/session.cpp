// SPDX-License-Identifier: Apache-2.0
// Performs an action, and then everything that follows from it immediately: sends octets, and logs
// events and completions.
#include "lab/session.hpp"

#include <algorithm>
#include <utility>

namespace iwarp::apps::lab {
namespace {

std::unexpected<std::string> no(std::string why) { return std::unexpected(std::move(why)); }

}  // namespace

Session::Session(const Settings& settings)
    : settings_(settings),
      ends_{std::make_shared<End>(Side::kNear, settings, now_),
            std::make_shared<End>(Side::kFar, settings, now_)},
      link_(at(Side::kNear), at(Side::kFar)) {}

Session::~Session() {
  // A connected queue pair and its driver, the End, own each other. Aborting the queue pair breaks
  // this cycle.
  for (const auto& end : ends_) (void)end->qp->abort();
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
        return no("the link is cut, or the ends have already connected");
      at(Side::kNear).connection->connect({}, now_);
      break;
    case Verb::kFlip:
      applied = flip(action);
      break;
    case Verb::kClose:
      if (at(action.end).qp->disconnect()) return no("this end is not connected");
      break;
    case Verb::kCut:
      if (link_.is_cut()) return no("the link is already cut");
      link_.cut();
      for (const auto& end : ends_) end->connection->lost(now_);
      break;
    case Verb::kWait:
      applied = wait();
      break;
    default:
      applied = at(action.end).post(action, at(other(action.end)));
  }
  if (applied) settle();
  return applied;
}

std::optional<Session::Due> Session::due() {
  const Segment* const segment = link_.next();
  if (segment == nullptr) return std::nullopt;
  return Due{.from = segment->from,
             .octets = segment->size - link_.arrived(*segment),
             .begun = link_.arrived(*segment) != 0};
}

Session::Applied Session::deliver(std::size_t octets) {
  const Segment* const segment = link_.next();
  if (segment == nullptr) return no("nothing is in flight");
  const auto left = segment->size - link_.arrived(*segment);
  if (octets > left || (octets == 0) != (left == 0))
    return no(
        "an action delivers from 1 octet to all octets of the next segment that are still in "
        "flight, or 0 octets if the segment is a FIN or a reset");
  now_ = std::max(now_, link_.due(*segment) + Link::time_of(octets));
  link_.arrive(*segment, octets);
  return {};
}

Session::Applied Session::flip(const Action& action) {
  std::byte* const octet = link_.in_flight(action.end, action.numbers[0]);
  if (octet == nullptr) return no("the octet to flip is not in flight");
  *octet ^= std::byte{0x80} >> (action.numbers[1] % 8);
  return {};
}

Session::Applied Session::wait() {
  std::optional<TimePoint> next;
  for (const auto& end : ends_) {
    const auto timeout = end->connection->timeout();
    if (timeout && (!next || *timeout < *next)) next = timeout;
  }
  if (!next) return no("no timer is running");
  now_ = std::max(now_, *next);
  for (const auto& end : ends_) end->expire();
  return {};
}

void Session::settle() {
  for (bool moved = true; moved && !link_.is_full();) {
    moved = false;
    for (const Side side : {Side::kNear, Side::kFar}) {
      moved |= at(side).wake();
      moved |= at(side).look();
      moved |= link_.pump(side, now_);
    }
  }
}

}  // namespace iwarp::apps::lab
