// SPDX-License-Identifier: Apache-2.0
// Queue pairs of type UD on one host, for the cases of datagrams.cpp, datagram_polling.cpp and
// groups.cpp, which are one program.
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "endpoint.hpp"

namespace rdma_core_test {

inline constexpr std::uint32_t kKey = 0x22222222;
inline constexpr std::size_t kGrh = 40;

using Ah = Owned<ibv_ah, ibv_destroy_ah>;

enum class Family : std::uint8_t { kIpv4, kIpv6 };

/// From the first address of this host to itself; nullopt: there is none of that family.
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

struct DatagramsOptions {
  bool builders = false;     ///< requests are built call by call
  bool shares = false;       ///< receives are of a shared queue
  bool extended_cq = false;  ///< completions are read by calls
};

/// One that is ready for everything, with its own queue and memory.
struct Datagrams {
  explicit Datagrams(const DatagramsOptions& options = {}) {
    if (options.extended_cq) {
      ibv_cq_init_attr_ex attr{.cqe = 32, .wc_flags = IBV_WC_STANDARD_FLAGS};
      read_by_calls = ibv_create_cq_ex(context.get(), &attr);
      REQUIRE(read_by_calls != nullptr);
    }
    cq.reset(options.extended_cq ? ibv_cq_ex_to_cq(read_by_calls)
                                 : ibv_create_cq(context.get(), 32, nullptr, nullptr, 0));
    if (options.shares) {
      ibv_srq_init_attr attr{.attr = {.max_wr = 8, .max_sge = 1}};
      srq.reset(ibv_create_srq(pd.get(), &attr));
      REQUIRE(srq);
    }
    ibv_qp_init_attr_ex init{.send_cq = cq.get(),
                             .recv_cq = cq.get(),
                             .srq = srq.get(),
                             .cap = {8, 8, 2, 2, 64},
                             .qp_type = IBV_QPT_UD,
                             .comp_mask = IBV_QP_INIT_ATTR_PD,
                             .pd = pd.get()};
    if (options.builders) {
      init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    }
    qp.reset(ibv_create_qp_ex(context.get(), &init));
    REQUIRE(qp);
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
    CHECK(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_PORT) == EINVAL);
    REQUIRE(ibv_modify_qp(qp.get(), &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
    attr.qp_state = IBV_QPS_RTR;
    CHECK(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_DEST_QPN) == EINVAL);
    REQUIRE(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE) == 0);
    to_rts();
  }
  void to_rts() const {
    ibv_qp_attr attr{.qp_state = IBV_QPS_RTS};
    const int psn = state() == IBV_QPS_SQE ? 0 : IBV_QP_SQ_PSN;
    REQUIRE(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE | psn) == 0);
  }
  ibv_qp_state state() const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    REQUIRE(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_QKEY, &init) == 0);
    CHECK(attr.qkey == kKey);
    CHECK(init.qp_type == IBV_QPT_UD);
    return attr.qp_state;
  }
  int receive(const Buffer& into, std::uint64_t wr_id) const {
    ibv_sge sge = into.sge();
    ibv_recv_wr wr{.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    if (srq) return ibv_post_srq_recv(srq.get(), &wr, &bad);
    return ibv_post_recv(qp.get(), &wr, &bad);
  }
  int send(ibv_ah* to, std::uint32_t qpn, ibv_sge sge, std::uint32_t key = kKey,
           ibv_wr_opcode opcode = IBV_WR_SEND, std::uint32_t immediate = 0xABCD) const {
    ibv_send_wr wr{.wr_id = 77, .sg_list = &sge, .num_sge = 1, .opcode = opcode};
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.imm_data = htonl(immediate);
    wr.wr.ud = {.ah = to, .remote_qpn = qpn, .remote_qkey = key};
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp.get(), &wr, &bad);
  }

  Context context = open_device();
  Pd pd{ibv_alloc_pd(context.get())};
  ibv_cq_ex* read_by_calls = nullptr;  ///< `cq`, if it is one
  Cq cq;
  Srq srq;
  Qp qp;
};

/// Of an id of RDMA_PS_UDP.
inline void make_queue_pair(rdma_cm_id* id) {
  ibv_qp_init_attr init{.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD};
  REQUIRE(rdma_create_qp(id, nullptr, &init) == 0);
}

}  // namespace rdma_core_test
