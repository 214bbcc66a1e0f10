// SPDX-License-Identifier: Apache-2.0
// The one entry of the device list.
#pragma once

#include <infiniband/verbs.h>

namespace iwarp::rdma_core {

/// What rdma_get_devices() and ibv_get_device_list() list.
ibv_device* the_device();
/// Returns true once the user has taken the device away (a fault on demand).
bool is_device_removed();

}  // namespace iwarp::rdma_core
