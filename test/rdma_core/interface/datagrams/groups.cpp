// SPDX-License-Identifier: Apache-2.0
// Tests multicast groups: UD queue pairs that are members, and ids that join. This file belongs to
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

ibv_gid group() { return gid_of(kGroup); }

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

// [IBV-495, IBV-588, IBV-590]
TEST_CASE("an invalid or unattached group cannot be detached, and the queue pair still works") {
  const Datagrams a;
  ibv_ah_attr home = way_home(a.context);
  const ibv_gid none{};
  const ibv_gid never_joined = group();
  for (const ibv_gid& gid : {none, home.grh.dgid, never_joined}) {
    CHECK(ibv_detach_mcast(a.qp, &gid, 0) == EINVAL);
  }
  CHECK(ibv_attach_mcast(a.qp, &home.grh.dgid, 0) == EINVAL);  // not the address of a group
  const ibv_gid joined = group();
  REQUIRE(ibv_attach_mcast(a.qp, &joined, 0) == 0);
  CHECK(ibv_destroy_qp(a.qp) == EBUSY);  // still attached
  CHECK(ibv_detach_mcast(a.qp, &joined, 0) == 0);
  CHECK(ibv_detach_mcast(a.qp, &joined, 0) == EINVAL);
  const Buffer out(a.pd, "still here");
  const Buffer in(a.pd, 64);
  const Ah ah(ibv_create_ah(a.pd, &home));
  REQUIRE(a.receive(in, 1) == 0);
  REQUIRE(a.send(ah.get(), a.qp->qp_num, out.sge()) == 0);
  CHECK(End::done(a.cq).opcode == IBV_WC_SEND);
  CHECK(End::done(a.cq).byte_len == kGrh + 10);
}

// [RCM-290, RCM-292, RCM-296]
// [IBV-591]
TEST_CASE("an id joins a group, and its event contains the address for sending") {
  const Channel channel = make_channel();
  const Context context = open_device();
  const ibv_ah_attr home = way_home(context.get());
  std::array<char, INET6_ADDRSTRLEN> own{};
  inet_ntop(AF_INET, home.grh.dgid.raw + 12, own.data(), own.size());
  const Id id = datagram_id(channel);
  Address from(own.data());
  Address to(kGroup);
  REQUIRE(rdma_resolve_addr(id.get(), from.get(), to.get(), 1000) == 0);
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  make_queue_pair(id.get());
  int context_of_join = 0;
  REQUIRE(rdma_join_multicast(id.get(), to.get(), &context_of_join) == 0);
  {
    const Event joined = expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
    CHECK(joined->param.ud.qp_num == 0xFFFFFF);
    CHECK(joined->param.ud.private_data == &context_of_join);
    CHECK(joined->param.ud.ah_attr.grh.hop_limit == 1);
    const ibv_gid expected = group();
    CHECK(std::memcmp(joined->param.ud.ah_attr.grh.dgid.raw, expected.raw, 16) == 0);
  }
  CHECK(rdma_leave_multicast(id.get(), to.get()) == 0);
  rdma_cm_join_mc_attr_ex attr{
      .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
      .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
      .addr = to.get()};
  REQUIRE(rdma_join_multicast_ex(id.get(), &attr, nullptr) == 0);
  expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
  CHECK(rdma_leave_multicast(id.get(), to.get()) == 0);
  CHECK(error_of(rdma_join_multicast(id.get(), from.get(), nullptr)) == EINVAL);
  const Id without_queue_pair = datagram_id(channel);
  for (rdma_cm_id* const leaving : {id.get(), without_queue_pair.get()}) {
    for (const char* const no_group : {"::", "0.0.0.0", "192.0.2.1"}) {
      CHECK(error_of(rdma_leave_multicast(leaving, Address(no_group).get())) == EINVAL);
    }
  }
  CHECK(error_of(rdma_leave_multicast(id.get(), to.get())) == EADDRNOTAVAIL);
}

}  // namespace
