// SPDX-License-Identifier: Apache-2.0
// Tests what the CM decides about events of connections, row by row.
#include "cm/reaction.hpp"

#include <doctest/doctest.h>

#include <array>

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;
using Type = net::CmEvent::Type;
using Report = Reaction::Report;
using verbs::Announce;
using Time = std::chrono::steady_clock::time_point;

constexpr auto kNow = Report::kNow;

struct Row {
  const char* what;
  Happened happened;
  Reaction reaction;
};

constexpr std::array kRows{
    Row{"connected",
        {.type = Type::kEstablished},
        {.report = kNow, .announce = Announce::kUnflushed}},
    Row{"connected, with completions",
        {.type = Type::kEstablished, .has_unpolled = true},
        {.report = kNow, .announce = Announce::kUnflushed}},
    Row{"connected after rdma_disconnect()",
        {.type = Type::kEstablished, .disconnect_wanted = true},
        {.report = kNow, .announce = Announce::kUnflushed, .closes = true}},
    Row{"connected after rdma_destroy_id()",
        {.type = Type::kEstablished, .has_id = false},
        {.announce = Announce::kAll, .is_last = true, .closes = true}},
    Row{"failed after rdma_destroy_id()",
        {.type = Type::kConnectFailed, .has_id = false},
        {.announce = Announce::kAll, .is_last = true}},
    Row{"over after rdma_destroy_id()",
        {.type = Type::kDisconnected, .has_id = false, .has_unpolled = true},
        {.announce = Announce::kAll, .is_last = true}},
    Row{"over, and all is polled",
        {.type = Type::kDisconnected, .disconnect_wanted = true},
        {.report = kNow, .announce = Announce::kAll, .is_last = true}},
    Row{"over, and receives are not polled",
        {.type = Type::kDisconnected, .has_unpolled = true},
        {.report = Report::kAfterPolls, .is_last = true}},
    Row{"rejected",
        {.type = Type::kRejected, .has_unpolled = true},
        {.report = kNow, .announce = Announce::kAll, .is_last = true}},
    Row{"failed",
        {.type = Type::kConnectFailed, .has_unpolled = true},
        {.report = kNow, .announce = Announce::kAll, .is_last = true}},
};

TEST_CASE("each event of a connection has its report, completions and consequences") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    CHECK(react(row.happened) == row.reaction);
  }
}

TEST_CASE("the end of a connection waits for polls, and requests to its port wait for it") {
  const Time now = Time() + 10s;
  const Time soon = now + 100ms;
  const Time later = now + 200ms;
  const std::array events{
      PendingEvent{.own_port = 1, .is_request = true},
      PendingEvent{.own_port = 1, .has_unpolled = true, .at_latest = later},
      PendingEvent{.own_port = 2, .has_unpolled = true, .at_latest = soon},
      PendingEvent{.own_port = 3, .at_latest = soon},                       // all is polled
      PendingEvent{.own_port = 4, .has_unpolled = true, .at_latest = now},  // too late
      PendingEvent{.own_port = 1, .is_request = true},
      PendingEvent{.own_port = 1, .is_request = true},
      PendingEvent{.own_port = 3, .is_request = true},
      PendingEvent{.own_port = 4, .is_request = true},
  };
  const auto decided = waits_of(events, now);
  CHECK(decided.waits == std::vector{false, true, true, false, false, true, true, false, false});
  CHECK(decided.next == soon);
  CHECK(waits_of({}, now).next == Time::max());
}

}  // namespace
}  // namespace iwarp::rdma_core
