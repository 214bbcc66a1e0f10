// SPDX-License-Identifier: Apache-2.0
// UD queue pairs on one host, for datagrams.cpp and groups.cpp, and address vectors of this host.
#pragma once

#include <algorithm>
#include <array>

#include "../../support/verbs_end.hpp"
#include "../endpoint.hpp"

namespace rdma_core_test {

using Ah = Owned<ibv_ah, ibv_destroy_ah>;

enum class Family : std::uint8_t { kIpv4, kIpv6 };

/// Returns an address vector from this host to itself, with the first address of `family`, or
/// nullopt if this host has no such address.
inline std::optional<ibv_ah_attr> way_home(ibv_context* context, Family family) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  ibv_ah_attr out{.is_global = 1, .port_num = 1};
  auto& [dgid, label, index, hops, traffic] = out.grh;
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(context, 1, &port) == 0);
  for (; index < port.gid_tbl_len; ++index) {
    if (ibv_query_gid(context, 1, index, &dgid) != 0) break;
    const bool is_none = std::ranges::all_of(dgid.raw, [](auto octet) { return octet == 0; });
    const bool is_v4 = std::memcmp(dgid.raw, kMapped.data(), kMapped.size()) == 0;
    if (!is_none && is_v4 == (family == Family::kIpv4)) return out;
  }
  return std::nullopt;
}

inline ibv_ah_attr way_home(ibv_context* context) {
  const auto out = way_home(context, Family::kIpv4);
  REQUIRE(out);
  return *out;
}

/// A UD queue pair in RTS. The test provides the memory for messages.
struct Datagrams : VerbsEnd {
  explicit Datagrams(EndOptions options = {}) : VerbsEnd(of_datagrams(options)) { bring_up(); }
  ~Datagrams() { CHECK(destroy()); }
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;
  static EndOptions of_datagrams(EndOptions options) {
    options.type = IBV_QPT_UD;
    options.cap = {8, 8, 2, 2, 64};
    options.signal_all = 0;
    return options;
  }
  /// Returns an address handle of this host.
  Ah home() const {
    ibv_ah_attr attr = rdma_core_test::way_home(context);
    Ah out(ibv_create_ah(pd, &attr));
    REQUIRE(out);
    return out;
  }
  int receive(const Buffer& into, std::uint64_t wr_id) const {
    return VerbsEnd::receive(into.sge(), wr_id);
  }
  int send(ibv_ah* to, std::uint32_t qpn, ibv_sge sge, ibv_wr_opcode opcode = IBV_WR_SEND,
           std::uint32_t immediate = 0xABCD) const {
    ibv_send_wr wr = datagram(sge, to, qpn, 77);
    wr.opcode = opcode;
    wr.imm_data = htonl(immediate);
    return post_send(qp, wr);
  }
};

}  // namespace rdma_core_test
