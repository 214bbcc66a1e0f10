// SPDX-License-Identifier: Apache-2.0
// Compares the stream's state machine with its committed copy in rfc-notes/fsm, and makes a Stream
// take each edge.
#include "iwarp/rdmap/stream_fsm.hpp"

#include <fsm_snapshot.hpp>

#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

TEST_CASE("the stream's state machine is the one in rfc-notes/fsm [RDMAP-63, RDMAP-85, RDMAP-89]") {
  iwarp::test::check_fsm("rdmap_stream", kStreamEdges);
}

TEST_CASE("after an error the stream sends its Terminate and then closes [RDMAP-85, RDMAP-90]") {
  Bench bench;
  CHECK(bench.stream.state() == StreamState::kRdma);
  bench.stream.terminate(kLocalCatastrophic, false);
  CHECK(bench.stream.state() == StreamState::kTerminating);
  OutSegment out;
  REQUIRE(bench.stream.next_segment(1442, out));
  bench.stream.segment_taken();
  CHECK(bench.stream.state() == StreamState::kTerminating);
  bench.stream.sent(out.token);
  CHECK(bench.stream.state() == StreamState::kTerminateSent);
  bench.stream.lower_layer_closed();
  CHECK(bench.stream.state() == StreamState::kClosed);
}

TEST_CASE("the lower layer may close in every state, and nothing happens after it") {
  for (const int before : {0, 1, 2, 3}) {
    Bench bench;
    if (before == 1 || before == 2) bench.stream.terminate(kLocalCatastrophic, false);
    if (before == 2) bench.next();
    if (before == 3) CHECK_FALSE(bench.feed(terminate_frame("N")));
    bench.stream.lower_layer_closed();
    CHECK(bench.stream.state() == StreamState::kClosed);
    bench.ulp.requests.push_back({.opcode = Opcode::kSend});
    CHECK_FALSE(bench.next());
    bench.stream.terminate(kInvalidStag, false);
    CHECK(bench.stream.state() == StreamState::kClosed);
    CHECK_FALSE(bench.next());
  }
}

}  // namespace
}  // namespace iwarp::rdmap
