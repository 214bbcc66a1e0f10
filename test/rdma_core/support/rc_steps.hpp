// SPDX-License-Identifier: Apache-2.0
// The attributes that ibv_modify_qp(3) requires of an RC queue pair for each transition from RESET
// to RTS. Both tests and programs include this header, so it does not use doctest.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <stdexcept>

namespace rdma_core_test {

inline constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kToRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kToRts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

/// Returns the attributes for the transitions to INIT, RTR and RTS that connect a queue pair to
/// `peer`, a queue pair of this process. The caller sets `qp_state`.
inline ibv_qp_attr rc_attributes(ibv_context* context, const ibv_qp* peer, unsigned rights,
                                 std::uint8_t reads) {
  ibv_port_attr port{};
  if (ibv_query_port(context, 1, &port) != 0) throw std::runtime_error("ibv_query_port");
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_access_flags = rights;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer->qp_num;
  attr.max_rd_atomic = attr.max_dest_rd_atomic = reads;
  attr.ah_attr = {.dlid = port.lid, .port_num = 1};
  if (port.lid != 0) return attr;
  // RoCE has no LIDs.
  attr.ah_attr.is_global = 1;
  if (ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid) != 0) {
    throw std::runtime_error("ibv_query_gid");
  }
  return attr;
}

}  // namespace rdma_core_test
