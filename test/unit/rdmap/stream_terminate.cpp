// SPDX-License-Identifier: Apache-2.0
// Tests the end of a stream: which Terminate it sends, that it sends only one and nothing after it,
// and the effect of the peer's Terminate (RFC 5040 sections 5.4, 6.2.1 and 7.1). Compares the
// stream's state machine with its committed copy in rfc-notes/fsm.
#include <fsm_snapshot.hpp>

#include "iwarp/rdmap/stream_fsm.hpp"
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

constexpr Fault kCrc{Layer::kMpa, 0, 0x02, "CRC32c of the FPDU is wrong"};

TEST_CASE(
    "a Write to an unknown STag is answered with frame L [RDMAP-15, RDMAP-59, RDMAP-85, RDMAP-93, "
    "DDP-62, "
    "DDP-64, DDP-79, DDP-80, DDP-82]") {
  Bench bench;
  const auto write = segment(tagged_header(Opcode::kWrite, 0xDEADBEEF, 0), pattern(4));
  CHECK(bench.feed(write) == ddp::kTaggedInvalidStag);
  CHECK(bench.next_text() == text(terminate_frame("L")));
  CHECK_FALSE(bench.next());
  REQUIRE(bench.stream.own_terminate());
  CHECK(bench.stream.own_terminate()->fault == ddp::kTaggedInvalidStag);
}

TEST_CASE("frame M answers a forbidden Read [RDMAP-15, RDMAP-19, RDMAP-20, RDMAP-21, RDMAP-94]") {
  Bench bench;
  bench.ulp.refusal = AccessError::kNoRight;
  for (const std::uint32_t msn : {1U, 2U, 3U}) CHECK_FALSE(bench.feed(read_request(msn, {})));
  CHECK(bench.drain() == "222");
  CHECK_FALSE(bench.feed(read_request(4, {.sink_stag = Stag{0x55667788},
                                          .sink_to = TaggedOffset{0x2000},
                                          .size = 64,
                                          .source_stag = Stag{0x99999999}})));
  CHECK(bench.next_text() == text(terminate_frame("M")));
  CHECK_FALSE(bench.next());
}

TEST_CASE(
    "MPA errors and local errors are frames N, N6, N7 and N0, without headers [RDMAP-92, MPA-109, "
    "DDP-66, EMPA-14, EMPA-24]") {
  const std::pair<Fault, const char*> rows[] = {{kCrc, "N"},
                                                {{Layer::kMpa, 0, 0x06}, "N6"},
                                                {{Layer::kMpa, 0, 0x07}, "N7"},
                                                {kLocalCatastrophic, "N0"}};
  for (const auto& [fault, frame] : rows) {
    for (const bool about_segment : {false, true}) {
      Bench bench;
      CHECK_FALSE(bench.feed(message("C")));
      bench.stream.terminate(fault, about_segment);
      CHECK(bench.next_text() == text(terminate_frame(frame)));
    }
  }
}

TEST_CASE("a Terminate interrupts the message, and is the last [RDMAP-63, RDMAP-80, VRB-20]") {
  Bench bench;
  const auto payload = pattern(1000);
  bench.ulp.readable = {{.stag = 1, .to = 0, .at = 0, .length = 100}};
  bench.ulp.requests = {send(Opcode::kSend, payload), {.opcode = Opcode::kWrite}};
  CHECK_FALSE(bench.feed(read_request(1, {.size = 10, .source_stag = Stag{1}})));
  bench.next(128);
  bench.stream.terminate(kLocalCatastrophic, false);
  CHECK(bench.stream.inbound_reads() == 0);
  CHECK(bench.drain(128) == "7");
  CHECK(bench.stream.state() == StreamState::kTerminateSent);
  CHECK(bench.drain(128).empty());
  CHECK(bench.ulp.requests.size() >= 1);
}

TEST_CASE("answers precede the Terminate, unless their memory is gone [RDMAP-37, RDMAP-78]") {
  for (const bool is_gone : {false, true}) {
    Bench bench;
    const auto payload = pattern(1000);
    bench.ulp.readable = {{.stag = 1, .to = 0, .at = 0, .length = 400}};
    bench.ulp.requests = {send(Opcode::kSend, payload)};
    bench.next(128);  // the first segment of the Send, which the Terminate interrupts
    CHECK_FALSE(bench.feed(read_request(1, {.size = 10, .source_stag = Stag{1}})));
    CHECK_FALSE(bench.feed(read_request(2, {.size = 300, .source_stag = Stag{1}})));
    bench.stream.terminate(kLocalCatastrophic, false);
    CHECK(bench.stream.inbound_reads() == 2);
    bench.next(128);
    if (is_gone) bench.ulp.readable.clear();
    CHECK(bench.drain(128) == (is_gone ? "7" : "2227"));
    CHECK(bench.stream.state() == StreamState::kTerminateSent);
    CHECK(bench.stream.own_terminate()->fault == kLocalCatastrophic);
  }
}

TEST_CASE("a segment is dropped if its stream ends before its payload arrives [RDMAP-89, DDP-8]") {
  Bench bench;
  bench.ulp.requests = {read(bench.ulp.memory(0, 8), 1)};
  CHECK(bench.drain() == "1");
  bench.ulp.log.clear();
  const auto octets = segment(tagged_header(Opcode::kReadResponse, 0x55667788, 0x2000), pattern(8));
  REQUIRE(bench.stream.begin(bytes::View(octets).first(18), octets.size()));
  bench.stream.terminate(kLocalCatastrophic, false);
  CHECK(bench.stream.end());
  CHECK(bench.ulp.log.empty());
  CHECK(bench.drain() == "7");
}

TEST_CASE("outstanding Reads are dropped when the stream ends") {
  Bench bench;
  bench.ulp.requests = {{.opcode = Opcode::kReadRequest, .length = 0}};
  CHECK(bench.drain() == "1");
  CHECK_FALSE(bench.feed(read_request(1, {})));
  bench.stream.abandon();
  CHECK(bench.stream.inbound_reads() == 0);
}

TEST_CASE("the stream's state machine is the one in rfc-notes/fsm [RDMAP-63, RDMAP-85, RDMAP-89]") {
  iwarp::test::check_fsm("rdmap_stream", kStreamEdges);
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
