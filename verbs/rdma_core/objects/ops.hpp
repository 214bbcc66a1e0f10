// SPDX-License-Identifier: Apache-2.0
// What programs reach through pointers instead of exported names: the inline functions of
// <infiniband/verbs.h> call these in ibv_context::ops and verbs_context. device.cpp puts them
// there.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

// ibv_context::ops
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);

// verbs_context
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);

}  // namespace iwarp::rdma_core
