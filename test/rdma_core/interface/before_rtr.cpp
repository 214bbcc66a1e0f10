// SPDX-License-Identifier: Apache-2.0
// Tests peers that agree on an RTR, are accepted, and then end the connection without sending the
// RTR. The server must see only events that an ordinary client can also cause, because programs
// such as rping -s -P exit on RDMA_CM_EVENT_CONNECT_ERROR.
#include "../support/raw_client.hpp"
#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;
using namespace std::string_literals;

/// A Request of revision 2 with CRC, with IRD and ORD of 1, and with a Write as RTR.
const std::string kRequest = "MPA ID Req Frame\x50\x02\0\x04\x80\x01\x80\x01"s;
/// A zero-length Write as RTR, with a wrong CRC of 0.
const std::string kBrokenRtr = "\0\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"s;

/// Accepts the next request, with a queue pair of its own.
void accept_next(const Channel& channel, End& server) {
  server.id.reset(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
  make_queue_pair(server);
  rdma_conn_param param{};
  REQUIRE(rdma_accept(server.id.get(), &param) == 0);
}

// [RCM-120]
TEST_CASE("a server reads ESTABLISHED before the next request, even without the RTR of the first") {
  const Meeting meeting;
  const RawClient first(meeting.port);
  first.send(kRequest);
  End server;
  accept_next(meeting.server_channel, server);
  REQUIRE(first.receive(1).size() == 1);
  const RawClient second(meeting.port);
  second.send(kRequest);
  CHECK(expect(meeting.server_channel, RDMA_CM_EVENT_ESTABLISHED)->id == server.id.get());
  const Id other(expect(meeting.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id);
}

// [RCM-341]
TEST_CASE("a peer that disconnects before its RTR was connected, and the next one is served") {
  Meeting meeting;
  RawClient stranger(meeting.port);
  stranger.send(kRequest);
  End server;
  accept_next(meeting.server_channel, server);
  const Buffer in(server.pd.get(), 8);
  REQUIRE(server.receive(in.sge()) == 0);
  REQUIRE(stranger.receive(1).size() == 1);
  SUBCASE("it closes") { stranger.half_close(); }
  SUBCASE("it resets") { stranger.reset(); }
  SUBCASE("its RTR has a wrong CRC") { stranger.send(kBrokenRtr); }

  const Event established = expect(meeting.server_channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK(established->id == server.id.get());
  CHECK(established->status == 0);
  CHECK(expect(meeting.server_channel, RDMA_CM_EVENT_DISCONNECTED)->id == server.id.get());
  CHECK(End::next(server.receive_cq).status == IBV_WC_WR_FLUSH_ERR);
  CHECK(rdma_disconnect(server.id.get()) == 0);

  meeting.ask(nullptr);
  meeting.accept(nullptr);
  meeting.establish();
}

}  // namespace
