// SPDX-License-Identifier: Apache-2.0
// Tests whole operations between two connections over the simulated link.
#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT
using verbs::Access;
using verbs::SendFlags;
using verbs::SendWr;
using verbs::WcOpcode;
using verbs::WcStatus;
using verbs::WrOpcode;

namespace {

struct Variant {
  std::uint8_t revision;
  bool crc;
  bool markers_a;
  bool markers_b;
  mpa::Rtr rtr;
};

std::vector<Variant> variants() {
  std::vector<Variant> out;
  for (const bool crc : {false, true}) {
    for (const int markers : {0, 1, 2, 3}) {
      out.push_back({1, crc, (markers & 1) != 0, (markers & 2) != 0, mpa::Rtr::kNone});
      for (const auto rtr : {mpa::Rtr::kNone, mpa::Rtr::kWrite, mpa::Rtr::kRead, mpa::Rtr::kSend}) {
        out.push_back({2, crc, (markers & 1) != 0, (markers & 2) != 0, rtr});
      }
    }
  }
  return out;
}

verbs::ConnectionOptions options(const Variant& v, bool initiator) {
  verbs::ConnectionOptions o;
  o.startup.revision = v.revision;
  o.startup.crc = v.crc;
  o.startup.markers = initiator ? v.markers_a : v.markers_b;
  o.startup.rtr = initiator ? v.rtr : mpa::Rtr::kNone;
  return o;
}

// Posts one request of each kind from `a` to `b`, and checks every octet and completion.
void exchange(Pair& pair, std::size_t size) {
  auto* source = pair.a->memory(size, Access::kLocalWrite);
  auto* sink = pair.a->memory(size, Access::kLocalWrite);
  auto* target =
      pair.b->memory(size, Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead);
  auto* inbox = pair.b->memory(size, Access::kLocalWrite);
  fill_pattern(source);
  const std::array recv{sge(inbox, 0, size)};
  REQUIRE(!pair.b->qp->post_recv({.wr_id = 9, .sgl = recv}));

  const std::array from{sge(source, 0, size)};
  const std::array to{sge(sink, 0, size)};
  const std::array<SendWr, 3> work{
      SendWr{.wr_id = 1,
             .opcode = WrOpcode::kWrite,
             .flags = SendFlags::kSignaled,
             .sgl = from,
             .remote = remote(target)},
      SendWr{.wr_id = 2,
             .opcode = WrOpcode::kRead,
             .flags = SendFlags::kSignaled,
             .sgl = to,
             .remote = remote(target)},
      SendWr{.wr_id = 3, .opcode = WrOpcode::kSend, .flags = SendFlags::kSignaled, .sgl = from}};
  std::size_t posted = 0;
  REQUIRE(!pair.a->qp->post_send(work, posted));
  pair.run();

  const auto done = pair.a->completions();
  REQUIRE(done.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(done[i].wr_id == i + 1);
    CHECK(done[i].status == WcStatus::kSuccess);
  }
  const auto received = pair.b->completions();
  REQUIRE(received.size() == 1);
  CHECK(received[0].wr_id == 9);
  CHECK(received[0].opcode == WcOpcode::kRecv);
  CHECK(received[0].byte_len == size);
  CHECK(same(source, target, size));
  CHECK(same(source, sink, size));
  CHECK(same(source, inbox, size));
  CHECK(pair.a->guards_intact());
  CHECK(pair.b->guards_intact());
}

}  // namespace

TEST_CASE(
    "each inline payload of a full queue is its own copy, each time the queue wraps [VRB-42]") {
  constexpr std::uint32_t kDepth = 100;
  verbs::QpInit init;
  init.limits = {.max_send_wr = kDepth, .max_recv_wr = kDepth, .max_inline = 8};
  Connected pair({}, {}, {}, init, init);
  auto* inbox = pair.b->memory(8 * kDepth, Access::kLocalWrite);
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    for (std::uint64_t i = 0; i < kDepth; ++i) {
      const std::array to{sge(inbox, 8 * i, 8)};
      REQUIRE(!pair.b->qp->post_recv({.wr_id = i, .sgl = to}));
      auto payload = std::bit_cast<std::array<std::byte, 8>>(lap * 1000 + i);
      const std::array from{verbs::Sge{.address = payload.data(), .length = 8}};
      const auto flags = SendFlags::kInline | SendFlags::kSignaled;
      REQUIRE(!pair.a->qp->post_send({.wr_id = i, .flags = flags, .sgl = from}));
    }
    CHECK(pair.a->qp->post_send(SendWr{}) == verbs::Errc::kQueueFull);
    pair.run();
    CHECK(pair.a->completions().size() == kDepth);
    CHECK(pair.b->completions().size() == kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, inbox->address + 8 * i, sizeof value);
      REQUIRE(value == lap * 1000 + i);
    }
  }
}

TEST_CASE(
    "Write, Read and Send arrive complete with every combination of startup options [RDMAP-37] "
    "[DDP-40] [MPA-24] [MPA-39]") {
  for (const Variant& v : variants()) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{5000}}) {
      CAPTURE(static_cast<int>(v.revision));
      CAPTURE(v.crc);
      CAPTURE(v.markers_a);
      CAPTURE(v.markers_b);
      CAPTURE(static_cast<int>(v.rtr));
      Connected pair(options(v, true), options(v, false), {.seed = 3, .max_segment = 700});
      exchange(pair, size);
    }
  }
}

TEST_CASE("large messages are transferred in FPDUs of every size [MPA-50] [DDP-37]") {
  for (const std::size_t ulpdu : {std::size_t{0}, std::size_t{128}, std::size_t{64768}}) {
    for (const auto placement : {verbs::Placement::kVerified, verbs::Placement::kDirect}) {
      for (const bool crc : {true, false}) {
        verbs::ConnectionOptions o;
        o.max_ulpdu = ulpdu;
        o.placement = placement;
        o.startup.crc = crc;
        o.startup.markers = true;
        Connected pair(o, o, {.seed = 5, .max_segment = 40'000});
        exchange(pair, 300'000);
      }
    }
  }
}

TEST_CASE("receiving octets one at a time makes no difference [MPA-56] [MPA-117]") {
  verbs::ConnectionOptions o;
  o.startup.markers = true;
  Connected pair(o, o, {.seed = 1, .max_segment = 1});
  exchange(pair, 3000);
}
