// SPDX-License-Identifier: Apache-2.0
// Takes a queue pair through its states one by one, as a program without the CM does.
#pragma once

#include "support.hpp"

namespace data {

inline constexpr std::uint32_t kPsn = 77;

inline ibv_qp_attr attributes(End& end, const ibv_qp* peer, ibv_qp_state to,
                              std::uint32_t psn = kPsn) {
  ibv_qp_attr attr = rc_attributes(end.context, peer, End::kAllRights, 16);
  attr.qp_state = to;
  attr.rq_psn = attr.sq_psn = psn;
  return attr;
}

inline int modify(End& end, const ibv_qp* peer, ibv_qp_state to, int mask,
                  std::uint32_t psn = kPsn) {
  ibv_qp_attr attr = attributes(end, peer, to, psn);
  return ibv_modify_qp(end.qp, &attr, mask);
}

inline void make_ready_to_receive(End& end, const ibv_qp* peer, std::uint32_t psn = kPsn) {
  REQUIRE_EQ(modify(end, peer, IBV_QPS_INIT, kToInit), 0);
  REQUIRE_EQ(modify(end, peer, IBV_QPS_RTR, kToRtr, psn), 0);
}

inline void make_ready_to_send(End& end, const ibv_qp* peer, std::uint32_t psn = kPsn) {
  REQUIRE_EQ(modify(end, peer, IBV_QPS_RTS, kToRts, psn), 0);
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
