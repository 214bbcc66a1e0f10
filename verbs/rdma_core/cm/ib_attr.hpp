// SPDX-License-Identifier: Apache-2.0
// rdma_init_qp_attr() for IWARP_AS=roce. As in the kernel's CM for InfiniBand and RoCE, the
// function returns all attributes that ibv_modify_qp(3) requires. A program that creates its queue
// pairs itself passes these attributes to ibv_modify_qp() without reading them. The other functions
// in this header set the GIDs and paths that the ids of InfiniBand and RoCE devices contain.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "cm/id.hpp"
#include "device/port.hpp"

namespace iwarp::rdma_core {

/// Returns the GID that an id contains for one of its addresses. If the address is a loopback
/// address that is not in the GID table, returns the GID of another address of the device, which
/// also reaches this host; the kernel does the same.
ibv_gid shown_gid(const sockaddr& address, const Port& port);
/// Returns the index of a GID in the port's GID table, or 0 if the table does not contain it.
std::uint8_t index_of(const ibv_gid& gid, const Port& port);
/// Sets the source GID and the destination GID in `route.addr.addr.ibaddr`, if the id has a source
/// address and a destination address.
void show_addresses_as_ib(CmId& id);
/// Fills `route.path_rec` with the path to the peer.
void show_path_as_ib(CmId& id);
/// Implements rdma_init_qp_attr() for the step to the state `attr.qp_state`. Returns 0 or an errno.
int init_attr_as_ib(const CmId& id, ibv_qp_attr& attr, int& mask);

}  // namespace iwarp::rdma_core
