// SPDX-License-Identifier: Apache-2.0
// A member of a multicast group on a host with several interfaces, or a sender to the group.
//   groups member GROUP COUNT
//   groups send GROUP ADDRESS
// A member prints on how many interfaces its host has joined the group, then the sender of each of
// COUNT datagrams, and then on how many interfaces the group is still joined after the member has
// left it. ADDRESS is one of the sender's GIDs.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "datagram_end.hpp"

namespace {

constexpr std::uint32_t kText = 8;

bool is_ipv4(const ibv_gid& gid) { return gid.raw[0] != 0xFF; }

/// Formats the address of a group as in /proc/net/igmp and /proc/net/igmp6.
std::string hex_of(const ibv_gid& group) {
  std::string out;
  std::array<char, 3> two{};
  const auto add = [&](std::uint8_t octet) {
    std::snprintf(two.data(), two.size(), is_ipv4(group) ? "%02X" : "%02x", octet);
    out += two.data();
  };
  if (is_ipv4(group)) {
    for (int i = 15; i != 11; --i) add(group.raw[i]);
  } else {
    for (const std::uint8_t octet : group.raw) add(octet);
  }
  return out;
}

int interfaces_that_joined(const ibv_gid& group) {
  std::ifstream in(is_ipv4(group) ? "/proc/self/net/igmp" : "/proc/self/net/igmp6");
  const std::string wanted = hex_of(group);
  int out = 0;
  for (std::string word; in >> word;) out += word == wanted ? 1 : 0;
  return out;
}

/// Returns the source address in a GRH, which holds either an IPv6 header, or 20 zero octets and an
/// IPv4 header.
std::string sender_of(const std::uint8_t* grh) {
  constexpr std::size_t kIpv4Header = 20;
  const bool ipv4 = std::all_of(grh, grh + kIpv4Header, [](auto octet) { return octet == 0; });
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? grh + kIpv4Header + 12 : grh + 8, text.data(),
            text.size());
  return text.data();
}

void be_member(const ibv_gid& group, std::uint32_t count) {
  End end(nullptr);
  check(ibv_attach_mcast(end.qp, &group, 0) == 0, "ibv_attach_mcast");
  for (std::uint32_t n = 0; n != count; ++n) end.post(n, kText);
  std::printf("joined on %d interfaces\n", interfaces_that_joined(group));
  std::fflush(stdout);
  for (std::uint32_t n = 0; n != count; ++n) {
    const ibv_wc wc = end.next();
    check(wc.byte_len == kGrh + kText, "a datagram of another length");
    std::printf(
        "from %s\n",
        sender_of(reinterpret_cast<const std::uint8_t*>(end.memory) + wc.wr_id * kSlot).c_str());
  }
  check(ibv_detach_mcast(end.qp, &group, 0) == 0, "ibv_detach_mcast");
  std::printf("left, %d interfaces remain\n", interfaces_that_joined(group));
}

void send_to(const ibv_gid& group, const char* own) {
  End end(own);
  ibv_sge sge = end.slot(0, kText);
  const auto wr = rdma_core_test::datagram(sge, end.way_to(group, end.index), 0xFFFFFF);
  check(rdma_core_test::post_send(end.qp, wr) == 0, "ibv_post_send");
  end.next();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check(argc == 4, "usage: groups member GROUP COUNT | groups send GROUP ADDRESS");
    const ibv_gid group = gid_of(argv[2]);
    if (std::string(argv[1]) == "send") {
      send_to(group, argv[3]);
    } else {
      be_member(group, static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "groups: %s\n", error.what());
    return 1;
  }
}
