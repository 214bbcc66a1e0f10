// SPDX-License-Identifier: Apache-2.0
// rdma_init_qp_attr() as the kernel's CM for InfiniBand and RoCE answers it: with everything that
// ibv_modify_qp(3) asks for. A program with queue pairs of its own hands this on unseen. And what
// the ids of such devices carry beyond IP addresses.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "cm/id.hpp"
#include "device/port.hpp"

namespace iwarp::rdma_core {

/// The GID that an id shows for one of its addresses. As in the kernel a loopback address that is
/// not in the table stands for an address of the device, which leads to this host as well.
ibv_gid shown_gid(const sockaddr& address, const Port& port);
/// Of our own table; 0 where it is none of ours.
std::uint8_t index_of(const ibv_gid& gid, const Port& port);
/// Where the id is and where its peer is, as far as it knows: `route.addr.addr.ibaddr`.
void show_addresses_as_ib(CmId& id);
/// The way there: `route.path_rec`.
void show_path_as_ib(CmId& id);
/// An errno. `attr.qp_state` says which change it is for.
int init_attr_as_ib(const CmId& id, ibv_qp_attr& attr, int& mask);

}  // namespace iwarp::rdma_core
