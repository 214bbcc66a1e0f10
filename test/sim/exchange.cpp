// SPDX-License-Identifier: Apache-2.0
// Tests whole operations between two connections over the simulated link.
#include <bit>

#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

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

ConnectionOptions options(const Variant& v, bool initiator) {
  ConnectionOptions o;
  o.startup.revision = v.revision;
  o.startup.crc = v.crc;
  o.startup.markers = initiator ? v.markers_a : v.markers_b;
  o.startup.rtr = initiator ? v.rtr : mpa::Rtr::kNone;
  return o;
}

// Posts one request of each kind from `a` to `b`, and checks every octet and completion.
void exchange(Pair& pair, std::size_t size) {
  const auto [source, target] = regions(pair, size);
  Region* sink = pair.a->memory(size, Access::kLocalWrite);
  Region* inbox = pair.b->memory(size, Access::kLocalWrite);
  fill_pattern(source);
  post_recv(*pair.b, 9, sge(inbox, 0, size));
  const Sge from = sge(source, 0, size);
  const Sge to = sge(sink, 0, size);
  constexpr auto kSignaled = SendFlags::kSignaled;
  const std::array work{SendWr{.wr_id = 1,
                               .opcode = WrOpcode::kWrite,
                               .flags = kSignaled,
                               .sgl = {&from, 1},
                               .remote = remote(target)},
                        SendWr{.wr_id = 2,
                               .opcode = WrOpcode::kRead,
                               .flags = kSignaled,
                               .sgl = {&to, 1},
                               .remote = remote(target)},
                        SendWr{.wr_id = 3, .flags = kSignaled, .sgl = {&from, 1}}};
  std::size_t posted = 0;
  REQUIRE(!pair.a->qp->post_send(work, posted));
  CHECK(completed(pair) == "1 success, 2 success, 3 success");
  const auto received = pair.b->completions();
  CHECK(text(received) == "9 success");
  CHECK(received[0].opcode == WcOpcode::kRecv);
  CHECK(received[0].byte_len == size);
  for (const Region* copy : {target, sink, inbox}) CHECK(same(source, copy, size));
  CHECK(pair.a->guards_intact());
  CHECK(pair.b->guards_intact());
}

}  // namespace

// [IBV-526, IBV-527]
TEST_CASE("inline payload is copied when it is posted, and needs no registration [VRB-42]") {
  constexpr std::uint32_t kDepth = 100;
  const verbs::QpInit init{
      .limits = {.max_send_wr = kDepth, .max_recv_wr = kDepth, .max_inline = 8}};
  Connected pair({}, {}, {}, init, init);
  Region* inbox = pair.b->memory(8 * kDepth, Access::kLocalWrite);
  for (std::uint64_t lap = 0; lap < 4; ++lap) {
    for (std::uint64_t i = 0; i < kDepth; ++i) {
      post_recv(*pair.b, i, sge(inbox, 8 * i, 8));
      auto payload = std::bit_cast<std::array<std::byte, 8>>(lap * 1000 + i);
      post_send(*pair.a, i, {.address = payload.data(), .length = 8},
                SendFlags::kInline | SendFlags::kSignaled);
    }
    CHECK(pair.a->qp->post_send(SendWr{}) == verbs::Errc::kQueueFull);
    pair.run();
    CHECK(pair.a->completions().size() == kDepth);
    CHECK(pair.b->completions().size() == kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) REQUIRE(word(inbox, 8 * i) == lap * 1000 + i);
  }
}

TEST_CASE("all data arrives with any startup options [RDMAP-37, DDP-40, MPA-24, MPA-39]") {
  for (const Variant& v : variants()) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{5000}}) {
      INFO("revision ", static_cast<int>(v.revision), ", crc ", v.crc, ", markers a ", v.markers_a,
           ", markers b ", v.markers_b, ", rtr ", static_cast<int>(v.rtr));
      Connected pair(options(v, true), options(v, false), {.seed = 3, .max_segment = 700});
      exchange(pair, size);
    }
  }
}

TEST_CASE("large messages are transferred in FPDUs of every size [MPA-50] [DDP-37]") {
  for (const std::size_t ulpdu : {std::size_t{0}, std::size_t{128}, std::size_t{64768}}) {
    for (const auto placement : {verbs::Placement::kVerified, verbs::Placement::kDirect}) {
      for (const bool crc : {true, false}) {
        ConnectionOptions o{.placement = placement, .max_ulpdu = ulpdu};
        o.startup.crc = crc;
        o.startup.markers = true;
        Connected pair(o, o, {.seed = 5, .max_segment = 40'000});
        exchange(pair, 300'000);
      }
    }
  }
}
