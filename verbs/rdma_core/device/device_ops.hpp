// SPDX-License-Identifier: Apache-2.0
// What inline functions of the program's headers call through pointers in the context: the part
// about the device and its memory. Queues: ops.hpp.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace iwarp::rdma_core {

/// `length`: of the struct as the program's headers have it.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t length);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t length);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);

/// The context of the CM's ids whose program has opened none itself. Throws std::system_error.
ibv_context* default_context();
/// What rdma_get_devices() and ibv_get_device_list() list.
ibv_device* the_device();

}  // namespace iwarp::rdma_core
