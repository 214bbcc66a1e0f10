// SPDX-License-Identifier: Apache-2.0
// rdma_init_qp_attr() as the kernel's CM for InfiniBand and RoCE implements it: it returns all
// attributes that ibv_modify_qp(3) requires. A program that creates queue pairs itself passes these
// on without reading them. Also the GIDs and paths in ids of such devices.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "cm/id.hpp"
#include "device/port.hpp"

namespace iwarp::rdma_core {

/// Returns the GID that an id shows for one of its addresses. As in the kernel, a loopback address
/// that is not in the GID table is shown as an address of the device, which also reaches this host.
ibv_gid shown_gid(const sockaddr& address, const Port& port);
/// Returns the index of a GID in the port's table, or 0 if it is not there.
std::uint8_t index_of(const ibv_gid& gid, const Port& port);
/// Fills `route.addr.addr.ibaddr` with the GID of each end whose address the id has.
void show_addresses_as_ib(CmId& id);
/// Fills `route.path_rec` with the path to the peer.
void show_path_as_ib(CmId& id);
/// Implements rdma_init_qp_attr() for the step to `attr.qp_state`. Returns 0 or an errno.
int init_attr_as_ib(const CmId& id, ibv_qp_attr& attr, int& mask);

}  // namespace iwarp::rdma_core
