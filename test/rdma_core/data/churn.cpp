// SPDX-License-Identifier: Apache-2.0
// Tests queue pairs that are created, connected, used, destroyed in each state, and created again.
// No queue pair may accept a connection request that is meant for another queue pair.
#include <array>
#include <cstdlib>
#include <string_view>

#include "bring_up.hpp"

namespace {

using namespace data;

void exchange(End& one, End& other, std::uint64_t value) {
  other.word(64) = value;
  REQUIRE_EQ(one.post_rdma(IBV_WR_RDMA_READ, other, 128, 8, 64), 0);
  success(one.cq);
  REQUIRE_EQ(one.word(128), value);
}

/// Takes the steps of a pair of which `one` is the first end: 'R' and 'S' make it ready to receive
/// and to send; 'r' and 's' do the same with `other`.
void take_steps(End& one, End& other, std::string_view steps) {
  for (const char step : steps) {
    if (step == 'R') make_ready_to_receive(one, other.qp);
    if (step == 'S') make_ready_to_send(one, other.qp);
    if (step == 'r') make_ready_to_receive(other, one.qp);
    if (step == 's') make_ready_to_send(other, one.qp);
  }
}

/// How far a pair is brought up before it is destroyed or reset.
constexpr std::array<std::string_view, 5> kBeginnings{"", "R", "RS", "RrS", "RrSs"};
/// The orders in which the two ends become ready.
constexpr std::array<std::string_view, 3> kOrders{"RSrs", "RrSs", "RrsS"};

/// The ways in which the pair is destroyed or reset.
constexpr std::array<void (*)(End& one, End& other), 4> kEndings{
    [](End& one, End& other) {
      renew(one);
      renew(other);
    },
    [](End& one, End& other) {
      REQUIRE_EQ(one.modify(IBV_QPS_RESET), 0);
      renew(other);
    },
    [](End& one, End& other) {  // The next round uses the same two queue pair numbers.
      REQUIRE_EQ(one.modify(IBV_QPS_RESET), 0);
      REQUIRE_EQ(other.modify(IBV_QPS_RESET), 0);
    },
    [](End& one, End& other) {
      REQUIRE_EQ(one.modify(IBV_QPS_ERR), 0);
      REQUIRE_EQ(one.modify(IBV_QPS_RESET), 0);
      REQUIRE_EQ(other.modify(IBV_QPS_RESET), 0);
    }};

// A Read in each direction shows that each queue pair is connected to its own peer.
TEST_CASE("pairs created and destroyed one after the other each find their own peer") {
  End a;
  End b;
  const int pairs = std::getenv("IWARP_LONG") != nullptr ? 100'000 : 2'000;
  for (int i = 0; i < pairs; ++i) {
    CAPTURE(i);
    const auto n = static_cast<std::size_t>(i);
    const auto [one, other] = i % 2 == 0 ? std::pair(&a, &b) : std::pair(&b, &a);
    take_steps(*one, *other, kBeginnings.at(n / 2 % kBeginnings.size()));
    kEndings.at(n / 10 % kEndings.size())(*one, *other);
    if (i % 7 == 0) {
      one->bring_up(one->qp);
      exchange(*one, *one, n);
      renew(*one);
    }
    take_steps(*one, *other, kOrders.at(n % kOrders.size()));
    exchange(a, b, n);
    exchange(b, a, ~n);
    renew(a);
    renew(b);
  }
}

}  // namespace
