// SPDX-License-Identifier: Apache-2.0
// rdma_init_qp_attr() as the kernel's CM for InfiniBand and RoCE implements it: it returns all
// attributes that ibv_modify_qp(3) requires. A program that creates queue pairs itself passes these
// attributes on without reading them. The other functions set the GIDs and paths that ids of
// InfiniBand and RoCE devices contain.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "cm/id.hpp"
#include "device/port.hpp"

namespace iwarp::rdma_core {

/// Returns the GID that an id shows for one of its addresses. A loopback address may not be in the
/// GID table. As in the kernel, the GID of another address of the device, which also reaches this
/// host, then stands for it.
ibv_gid shown_gid(const sockaddr& address, const Port& port);
/// Returns the index of a GID in the port's table, or 0 if it is not there.
std::uint8_t index_of(const ibv_gid& gid, const Port& port);
/// Sets the GIDs in `route.addr.addr.ibaddr`: that of the source and that of the destination, as
/// far as the id has these addresses.
void show_addresses_as_ib(CmId& id);
/// Fills `route.path_rec` with the path to the peer.
void show_path_as_ib(CmId& id);
/// Implements rdma_init_qp_attr() for the step to `attr.qp_state`. Returns 0 or an errno.
int init_attr_as_ib(const CmId& id, ibv_qp_attr& attr, int& mask);

}  // namespace iwarp::rdma_core
