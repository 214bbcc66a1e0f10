// SPDX-License-Identifier: Apache-2.0
// The functions for queue pairs that programs call through function pointers instead of exported
// names. objects/calls.hpp has such functions for the other objects.
#pragma once

#include <infiniband/verbs.h>

namespace iwarp::rdma_core {

// Programs call these functions through ibv_context::ops.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);

// Programs call this function through verbs_context.
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);

// Programs call this function through ibv_qp_ex.
int wr_complete(ibv_qp_ex* qp);

}  // namespace iwarp::rdma_core
