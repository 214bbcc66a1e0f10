// SPDX-License-Identifier: Apache-2.0
// Tests queue pairs that are created, connected, used, destroyed in each state, and created again.
// No queue pair may accept a connection request that is meant for another queue pair.
#include <array>
#include <cstdlib>
#include <utility>

#include "bring_up.hpp"

namespace {

using namespace data;

void exchange(End& one, End& other, std::uint64_t value) {
  other.word(64) = value;
  REQUIRE_EQ(one.post_rdma(IBV_WR_RDMA_READ, other, 128, 8, 64), 0);
  success(one.cq);
  REQUIRE_EQ(one.word(128), value);
}

/// How far a pair is brought up before it is destroyed or reset.
using Beginning = void (*)(End& one, End& other);
constexpr std::array<Beginning, 5> kBeginnings{
    [](End&, End&) {}, [](End& one, End& other) { make_ready_to_receive(one, other.qp); },
    [](End& one, End& other) {
      make_ready_to_receive(one, other.qp);
      make_ready_to_send(one, other.qp);
    },
    [](End& one, End& other) {
      make_ready_to_receive(one, other.qp);
      make_ready_to_receive(other, one.qp);
      make_ready_to_send(one, other.qp);
    },
    [](End& one, End& other) {
      make_ready_to_receive(one, other.qp);
      make_ready_to_receive(other, one.qp);
      make_ready_to_send(one, other.qp);
      make_ready_to_send(other, one.qp);
    }};

/// The ways in which the pair is destroyed or reset.
constexpr std::array<Beginning, 4> kEndings{
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

/// The orders in which the two ends become ready.
constexpr std::array<Beginning, 3> kOrders{[](End& one, End& other) {
                                             make_ready_to_receive(one, other.qp);
                                             make_ready_to_send(one, other.qp);
                                             make_ready_to_receive(other, one.qp);
                                             make_ready_to_send(other, one.qp);
                                           },
                                           [](End& one, End& other) {
                                             make_ready_to_receive(one, other.qp);
                                             make_ready_to_receive(other, one.qp);
                                             make_ready_to_send(one, other.qp);
                                             make_ready_to_send(other, one.qp);
                                           },
                                           [](End& one, End& other) {
                                             make_ready_to_receive(one, other.qp);
                                             make_ready_to_receive(other, one.qp);
                                             make_ready_to_send(other, one.qp);
                                             make_ready_to_send(one, other.qp);
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
    kBeginnings.at(n / 2 % kBeginnings.size())(*one, *other);
    kEndings.at(n / 10 % kEndings.size())(*one, *other);
    if (i % 7 == 0) {
      one->bring_up(one->qp);
      exchange(*one, *one, n);
      renew(*one);
    }
    kOrders.at(n % kOrders.size())(*one, *other);
    exchange(a, b, n);
    exchange(b, a, ~n);
    renew(a);
    renew(b);
  }
}

}  // namespace
