// SPDX-License-Identifier: Apache-2.0
// The only device in the device list.
#pragma once

#include <infiniband/verbs.h>

namespace iwarp::rdma_core {

/// Returns the device that rdma_get_devices() and ibv_get_device_list() list.
ibv_device* the_device();
/// Returns whether an injected fault has removed the device.
bool is_device_removed();

}  // namespace iwarp::rdma_core
