// SPDX-License-Identifier: Apache-2.0
// Compares the state machines of an rdma_cm_id, of a queue pair's link and of a bring-up without
// the CM with their committed copies.
#include <doctest/doctest.h>

#include <fsm_snapshot.hpp>

#include "bring_up/bring_up_fsm.hpp"
#include "cm/id_fsm.hpp"
#include "qp/link_fsm.hpp"

namespace iwarp::rdma_core {
namespace {

TEST_CASE("the states of an rdma_cm_id, a link and a bring-up are those in rfc-notes/fsm") {
  iwarp::test::check_fsm("rdma_cm_id", kIdEdges);
  iwarp::test::check_fsm("link", kLinkEdges);
  iwarp::test::check_fsm("bring_up_peer", kPeerEdges);
  iwarp::test::check_fsm("bring_up_wait", kWaitEdges);
}

TEST_CASE("a call in a state that does not allow it changes nothing") {
  IdLife life;
  CHECK_FALSE(life.step(IdEvent::kConnect));
  CHECK(life.is(IdState::kIdle));
  REQUIRE(life.step(IdEvent::kResolveAddress));
  CHECK_FALSE(life.allows(IdEvent::kBind));
  REQUIRE(life.step(IdEvent::kResolveRoute));
  REQUIRE(life.step(IdEvent::kConnect));
  CHECK_FALSE(life.step(IdEvent::kAccept));
  REQUIRE(life.step(IdEvent::kConnectFailed));
  CHECK(life.allows(IdEvent::kConnect));
}

}  // namespace
}  // namespace iwarp::rdma_core
