// SPDX-License-Identifier: Apache-2.0
// Tests UD queue pairs that are members of multicast groups of several kinds. This file belongs to
// the same program as datagrams.cpp, which runs as RoCE. The tests with several interfaces and
// hosts are in test_datagrams.py.
#include "datagrams.hpp"

namespace {

using namespace rdma_core_test;

const char* const kGroup = "239.55.55.55";
const char* const kGroup6 = "ff15::5555";
const char* const kGroupOfLink = "ff12::5555";

/// The GID of a group, and an address vector for it.
struct Way {
  ibv_gid gid;
  ibv_ah_attr attr;
};

bool is_ipv6(const char* group) { return std::strchr(group, ':') != nullptr; }

/// Returns the GID of `group` and an address vector for it, or nullopt if this host has no address
/// of the group's family.
std::optional<Way> way_to(const Datagrams& from, const char* group) {
  auto attr = way_home(from.context, is_ipv6(group) ? Family::kIpv6 : Family::kIpv4);
  if (!attr) return std::nullopt;
  attr->grh.dgid = gid_of(group);
  return Way{attr->grh.dgid, *attr};
}

/// Returns the immediate data of the next `receives` completed receives. Skips the completions of
/// the queue pair's own Sends.
std::vector<std::uint32_t> numbers_of(const Datagrams& end, std::size_t receives) {
  std::vector<std::uint32_t> out;
  while (out.size() != receives) {
    const ibv_wc wc = End::done(end.cq);
    if (wc.opcode == IBV_WC_RECV) out.push_back(ntohl(wc.imm_data));
  }
  return out;
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

// [IBV-586, IBV-587, IBV-588, IBV-592]
TEST_CASE("members on one host get each datagram once, the sender only if it is a member") {
  constexpr std::uint32_t kCount = 3;
  constexpr std::uint32_t kLast = 99;
  for (const char* const address : {kGroup, kGroup6, kGroupOfLink}) {
    CAPTURE(address);
    const Datagrams a;
    const Datagrams b;
    const Datagrams sender;
    const auto way = way_to(sender, address);
    if (!way) continue;  // This host may have no IPv6.
    for (const bool sender_is_member : {false, true}) {
      CAPTURE(sender_is_member);
      std::vector<const Datagrams*> members{&a, &b};
      if (sender_is_member) members.push_back(&sender);
      for (const Datagrams* const member : members) {
        REQUIRE(ibv_attach_mcast(member->qp, &way->gid, 0) == 0);
        // A second attach has no further effect.
        REQUIRE(ibv_attach_mcast(member->qp, &way->gid, 0) == 0);
      }
      const Buffer out(sender.pd, "all of you");
      const Buffer in_a(a.pd, 256);
      const Buffer in_b(b.pd, 256);
      const Buffer in_sender(sender.pd, 256);
      for (std::uint32_t i = 0; i != kCount + 1; ++i) {
        REQUIRE(a.receive(in_a, i) == 0);
        REQUIRE(b.receive(in_b, i) == 0);
      }
      for (std::uint32_t i = 0; i != (sender_is_member ? kCount + 1 : 1); ++i) {
        REQUIRE(sender.receive(in_sender, i) == 0);
      }
      ibv_ah_attr attr = way->attr;
      const Ah to_group(ibv_create_ah(sender.pd, &attr));
      REQUIRE(to_group);
      for (std::uint32_t number = 1; number <= kCount; ++number) {
        REQUIRE(sender.send(to_group.get(), 0xFFFFFF, out.sge(), IBV_WR_SEND_WITH_IMM, number) ==
                0);
      }
      auto home = way_home(sender.context, is_ipv6(address) ? Family::kIpv6 : Family::kIpv4);
      REQUIRE(home);
      const Ah alone(ibv_create_ah(sender.pd, &*home));
      REQUIRE(alone);
      for (const Datagrams* const each : {&a, &b, &sender}) {
        REQUIRE(sender.send(alone.get(), each->qp->qp_num, out.sge(), IBV_WR_SEND_WITH_IMM,
                            kLast) == 0);
      }
      const std::vector<std::uint32_t> all{1, 2, 3, kLast};
      // Each member has posted one receive for each message, and no receive for a duplicate.
      CHECK(sorted(numbers_of(a, kCount + 1)) == all);
      CHECK(sorted(numbers_of(b, kCount + 1)) == all);
      CHECK(sorted(numbers_of(sender, sender_is_member ? kCount + 1 : 1)) ==
            (sender_is_member ? all : std::vector{kLast}));
      CHECK(in_a.text(kGrh + 10).substr(kGrh) == "all of you");
      for (const Datagrams* const member : members) {
        CHECK(ibv_detach_mcast(member->qp, &way->gid, 0) == 0);
      }
    }
  }
}

}  // namespace
