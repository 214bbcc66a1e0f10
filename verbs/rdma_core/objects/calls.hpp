// SPDX-License-Identifier: Apache-2.0
// The functions that programs call through function pointers instead of exported names. The inline
// functions of <infiniband/verbs.h> call them through ibv_context::ops, verbs_context and
// ibv_cq_ex. This header has the functions for the device, memory, completion queues and shared
// receive queues; qp/calls.hpp has the functions for queue pairs. assembly.cpp sets the function
// pointers.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core {

// Programs call these functions through ibv_context::ops.
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

// Programs call these functions through verbs_context.
/// The parameter `length` is the size of the struct `attr` in the headers with which the program
/// was built.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t length);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t length);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);

// Programs call these functions through ibv_cq_ex.
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr);
int next_poll(ibv_cq_ex* cq);
std::uint32_t read_vendor_err(ibv_cq_ex* cq);

}  // namespace iwarp::rdma_core
