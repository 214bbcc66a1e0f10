// SPDX-License-Identifier: Apache-2.0
// The functions for queue pairs that programs call through function pointers instead of exported
// names. objects/calls.hpp has such functions for the other objects. Also makes the service and the
// hooks that are implemented in this folder.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "hooks.hpp"
#include "process/core.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

// Programs call these functions through ibv_context::ops.
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);

// Programs call this function through verbs_context.
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);

// Programs call this function through ibv_qp_ex.
int wr_complete(ibv_qp_ex* qp);

/// Makes the service that passes asynchronous events of the device to the program. `persona` is the
/// kind of adapter that the program sees: an RNIC or a RoCE adapter.
std::unique_ptr<Service> make_async_events(Core& core, Persona persona);
/// Makes the last element of the chain of Hooks. Its functions call the library's own
/// implementations, such as post_send(). It also sets the function pointers of contexts, completion
/// queues and queue pairs, so that each call of the program enters the chain at its first element.
std::unique_ptr<Hooks> make_library_hooks();

}  // namespace iwarp::rdma_core
