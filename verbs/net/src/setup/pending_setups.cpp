// SPDX-License-Identifier: Apache-2.0
// PendingSetups: the rules of admission. Each rule costs a pass over the pending set-ups. Their
// number is small except under an attack, and never exceeds Limits::total.
#include "setup/pending_setups.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace iwarp::net {

std::string source_of(const Address& peer) {
  boost::system::error_code not_numeric;
  const auto address = boost::asio::ip::make_address(peer.host, not_numeric);
  if (not_numeric || !address.is_v6()) return peer.host;
  auto octets = address.to_v6().to_bytes();
  std::fill(octets.begin() + 8, octets.end(), 0);
  return boost::asio::ip::make_address_v6(octets).to_string() + "/64";
}

PendingSetups::Verdict PendingSetups::admit(const Newcomer& newcomer) {
  Verdict out;
  const auto any = [](const Setup&) { return true; };
  const auto shares = [&](const Setup& s) { return s.is_unproven && !s.is_local; };
  const auto same_source = [&](const Setup& s) { return shares(s) && s.source == newcomer.source; };
  const auto same_port = [&](const Setup& s) { return shares(s) && s.port == newcomer.port; };
  const bool has_share =
      newcomer.is_local || (keep_below(limits_.per_source, same_source, out.leave) &&
                            keep_below(limits_.per_listener, same_port, out.leave));
  const bool fits = has_share && keep_below(limits_.total, any, out.leave) &&
                    (keep_leaving(newcomer.to_evict, out.leave) || !out.leave.empty());
  if (!fits) {
    for (const Id id : out.leave) find(id)->leaves = false;
    out.leave.clear();
    return out;
  }
  out.id = next_++;
  setups_.push_back({.id = *out.id,
                     .source = newcomer.source,
                     .port = newcomer.port,
                     .is_local = newcomer.is_local});
  return out;
}

std::vector<PendingSetups::Id> PendingSetups::make_room(std::size_t count) {
  std::vector<Id> leave;
  keep_leaving(count, leave);
  return leave;
}

void PendingSetups::request_arrived(Id id) {
  const auto setup = find(id);
  if (setup == setups_.end()) return;
  setup->is_unproven = false;
  setup->leaves = false;  // The Request arrived before the eviction took effect.
}

void PendingSetups::accepted(Id id) {
  const auto setup = find(id);
  if (setup == setups_.end()) return;
  setup->is_unproven = true;
  std::rotate(setup, setup + 1, setups_.end());
}

void PendingSetups::over(Id id) {
  const auto setup = find(id);
  if (setup != setups_.end()) setups_.erase(setup);
}

// Counts the set-ups for which `counts` returns true, and evicts some of them until fewer than
// `limit` remain. Returns false if too few can be evicted.
bool PendingSetups::keep_below(std::size_t limit, const Test& counts, std::vector<Id>& leave) {
  const auto stays = [&counts](const Setup& s) { return !s.leaves && counts(s); };
  auto count = static_cast<std::size_t>(std::count_if(setups_.begin(), setups_.end(), stays));
  for (; count >= limit; --count) {
    if (!send_away(counts, leave)) return false;
  }
  return true;
}

// Evicts set-ups until `count` of them leave. Returns false if fewer can be evicted.
bool PendingSetups::keep_leaving(std::size_t count, std::vector<Id>& leave) {
  if (count == 0) return true;
  auto leaving = static_cast<std::size_t>(std::ranges::count(setups_, true, &Setup::leaves));
  while (leaving < count && send_away([](const Setup&) { return true; }, leave)) ++leaving;
  return leaving >= count;
}

bool PendingSetups::send_away(const Test& among, std::vector<Id>& leave) {
  const auto oldest = std::find_if(setups_.begin(), setups_.end(), [&among](const Setup& s) {
    return s.is_unproven && !s.leaves && among(s);
  });
  if (oldest == setups_.end()) return false;
  oldest->leaves = true;
  leave.push_back(oldest->id);
  return true;
}

PendingSetups::Setups::iterator PendingSetups::find(Id id) {
  return std::ranges::find(setups_, id, &Setup::id);
}

}  // namespace iwarp::net
