// SPDX-License-Identifier: Apache-2.0
// Tests which connections may start their setup and which are evicted. Uses no sockets.
#include "setup/pending_setups.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "iwarp/net/rnic.hpp"

using namespace iwarp::net;
using Id = PendingSetups::Id;
using Ids = std::vector<Id>;

namespace {

constexpr PendingSetups::Limits kLimits{.total = 6, .per_source = 3, .per_listener = 4};

Id admit(PendingSetups& setups, const std::string& source, std::uint16_t port,
         const Ids& leave = {}) {
  const auto verdict = setups.admit({.source = source, .port = port});
  REQUIRE(verdict.id.has_value());
  CHECK(verdict.leave == leave);
  for (const Id id : verdict.leave) setups.over(id);
  return *verdict.id;
}

bool refuses(PendingSetups& setups, const std::string& source, std::uint16_t port) {
  const auto verdict = setups.admit({.source = source, .port = port});
  return !verdict.id && verdict.leave.empty();
}

}  // namespace

TEST_CASE("a source address has a limit, and at the limit its oldest set-up is evicted [SCTP-4]") {
  PendingSetups setups(kLimits);
  const Id other = admit(setups, "other", 1);
  const Id first = admit(setups, "busy", 1);
  const Id second = admit(setups, "busy", 2);
  const Id third = admit(setups, "busy", 3);
  admit(setups, "busy", 4, {first});
  admit(setups, "busy", 5, {second});
  admit(setups, "busy", 6, {third});
  CHECK(setups.size() == 4);
  setups.over(other);
  CHECK(setups.size() == 3);
}

TEST_CASE("a listener has a limit for all sources together [SCTP-4]") {
  PendingSetups setups(kLimits);
  const Id first = admit(setups, "a", 1);
  admit(setups, "b", 1);
  admit(setups, "c", 1);
  admit(setups, "d", 1);
  admit(setups, "e", 2);
  admit(setups, "f", 1, {first});
}

TEST_CASE("peers on this host have no limit per source, but count towards the total [SCTP-4]") {
  PendingSetups setups(kLimits);
  const auto admit_local = [&setups](std::uint16_t port) {
    const auto verdict = setups.admit({.source = "own", .port = port, .is_local = true});
    REQUIRE(verdict.id.has_value());
    return verdict;
  };
  const Id first = *admit_local(1).id;
  for (int i = 0; i < 4; ++i) CHECK(admit_local(1).leave.empty());
  admit(setups, "a", 1);  // The setups at port 1 now use the whole share of one port.
  CHECK(admit_local(1).leave == Ids{first});
}

TEST_CASE("1,200 clients of one remote address all get in while half owe their RTR [SCTP-4]") {
  const RnicOptions defaults;
  PendingSetups setups({.total = defaults.max_pending_connects,
                        .per_source = defaults.max_pending_per_source,
                        .per_listener = defaults.max_pending_per_listener});
  constexpr int kClients = 600;
  for (int i = 0; i < kClients; ++i) {
    const Id id = admit(setups, "192.0.2.7", 1);
    setups.request_arrived(id);
    setups.accepted(id);
  }
  for (int i = 0; i < kClients; ++i) admit(setups, "192.0.2.7", 1);
  CHECK(setups.size() == 2 * kClients);
}

TEST_CASE("a Request that arrives during the eviction of its set-up stops it, and counts") {
  PendingSetups setups({.total = 1, .per_source = 1, .per_listener = 1});
  const Id first = admit(setups, "a", 1);
  const auto verdict = setups.admit({.source = "a", .port = 1});
  CHECK(verdict.leave == Ids{first});
  setups.request_arrived(first);
  setups.request_arrived(*verdict.id);
  CHECK(refuses(setups, "b", 2));
}

TEST_CASE("refusing a new set-up evicts no other set-up") {
  PendingSetups setups({.total = 3, .per_source = 1, .per_listener = 3});
  const Id proven = admit(setups, "a", 1);
  setups.request_arrived(proven);
  const Id silent = admit(setups, "a", 1);
  const auto verdict = setups.admit({.source = "a", .port = 1, .to_evict = 1});
  CHECK(verdict.leave == Ids{silent});
  setups.request_arrived(silent);
  setups.request_arrived(*verdict.id);
  CHECK(refuses(setups, "b", 2));
  setups.over(proven);
  CHECK_FALSE(setups.admit({.source = "b", .port = 2, .to_evict = 1}).id);
  CHECK(setups.size() == 2);
}

TEST_CASE("as many of the oldest set-ups are evicted as descriptors are missing") {
  PendingSetups setups({.total = 9, .per_source = 9, .per_listener = 9});
  CHECK(setups.make_room(1).empty());
  Ids ids;
  for (int i = 0; i < 6; ++i) ids.push_back(admit(setups, std::string("a"), 1));
  CHECK(setups.admit({.source = "x", .port = 1, .to_evict = 2}).leave == Ids{ids[0], ids[1]});
  // The two count until they are over.
  CHECK(setups.admit({.source = "x", .port = 1, .to_evict = 3}).leave == Ids{ids[2]});
  CHECK(setups.make_room(3).empty());
  setups.over(ids[0]);
  CHECK(setups.make_room(3) == Ids{ids[3]});
}

TEST_CASE("if too few set-ups can be evicted, a newcomer takes the place of one") {
  PendingSetups setups(kLimits);
  CHECK_FALSE(setups.admit({.source = "a", .port = 1, .to_evict = 3}).id);
  const Id silent = admit(setups, "a", 1);
  const auto verdict = setups.admit({.source = "b", .port = 1, .to_evict = 3});
  CHECK(verdict.leave == Ids{silent});
  setups.over(silent);
  setups.request_arrived(*verdict.id);
  CHECK_FALSE(setups.admit({.source = "c", .port = 1, .to_evict = 3}).id);
}

TEST_CASE("an IPv4 address is one source, and so is an IPv6 /64 network") {
  CHECK(source_of({"192.0.2.7", 1}) == "192.0.2.7");
  CHECK(source_of({"2001:db8:1:2:3:4:5:6", 1}) == source_of({"2001:db8:1:2::1", 2}));
  CHECK(source_of({"2001:db8:1:2::1", 1}) != source_of({"2001:db8:1:3::1", 1}));
}
