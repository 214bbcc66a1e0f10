// SPDX-License-Identifier: Apache-2.0
// The attributes of a device and of its port. A profile gives the values that a card reports. For a
// limit, the device reports the lower one of the card's limit and this stack's limit, and enforces
// what it reports.
#pragma once

#include <infiniband/verbs.h>

#include "device/port.hpp"

namespace iwarp::rdma_core {

/// Returns the attributes of a device, except its GUIDs and its firmware.
ibv_device_attr device_attributes(const Profile& profile);
/// Returns the attributes of a port with the GID table and the interface of `port`.
ibv_port_attr port_attributes(const Profile& profile, const Port& port);
/// Returns the version of the firmware that the device reports.
const char* firmware(const Profile& profile);

}  // namespace iwarp::rdma_core
