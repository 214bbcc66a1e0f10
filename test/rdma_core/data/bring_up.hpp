// SPDX-License-Identifier: Apache-2.0
// The states of a queue pair that its program takes through them itself, one by one.
#pragma once

#include <cstdint>

#include "support.hpp"

namespace data {

inline constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
inline constexpr std::uint32_t kPsn = 77;

inline ibv_qp_attr attributes(End& end, const ibv_qp* peer, ibv_qp_state to,
                              std::uint32_t psn = kPsn) {
  ibv_port_attr port{};
  REQUIRE_EQ(ibv_query_port(end.context, 1, &port), 0);
  ibv_qp_attr attr{};
  attr.qp_state = to;
  attr.port_num = 1;
  attr.qp_access_flags = End::kAllRights;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer->qp_num;
  attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
  attr.rq_psn = attr.sq_psn = psn;
  attr.ah_attr = {.dlid = port.lid, .port_num = 1};
  return attr;
}

inline int modify(End& end, const ibv_qp* peer, ibv_qp_state to, int mask,
                  std::uint32_t psn = kPsn) {
  ibv_qp_attr attr = attributes(end, peer, to, psn);
  return ibv_modify_qp(end.qp, &attr, mask);
}

inline void make_ready_to_receive(End& end, const ibv_qp* peer, std::uint32_t psn = kPsn) {
  REQUIRE_EQ(modify(end, peer, IBV_QPS_INIT, kInit), 0);
  REQUIRE_EQ(modify(end, peer, IBV_QPS_RTR, kRtr, psn), 0);
}

inline void make_ready_to_send(End& end, const ibv_qp* peer, std::uint32_t psn = kPsn) {
  REQUIRE_EQ(modify(end, peer, IBV_QPS_RTS, kRts, psn), 0);
}

inline void read_from(End& end, const End& peer) {
  REQUIRE_EQ(end.post_rdma(IBV_WR_RDMA_READ, peer, 0, 8, 0), 0);
  success(end.cq);
}

inline void renew(End& end) {
  REQUIRE_EQ(ibv_destroy_qp(end.qp), 0);
  end.qp = nullptr;
  end.qp = end.make_qp({});
}

}  // namespace data
