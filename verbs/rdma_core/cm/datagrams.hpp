// SPDX-License-Identifier: Apache-2.0
// Ids of RDMA_PS_UDP and RDMA_PS_IPOIB, where the files about connections leave them to
// cm/datagrams.cpp and cm/multicast.cpp. As RoCE only.
#pragma once

#include "cm/id.hpp"

namespace iwarp::rdma_core {

bool is_datagram(const CmId& id);
/// What ids of datagrams agree on where the program does not say: RDMA_UDP_QKEY.
inline constexpr std::uint32_t kUdpQKey = 0x01234567;

// As their namesakes for connections; an errno.
int bind_datagrams(CmId& id, const sockaddr& address);
int listen_datagrams(CmId& id, int backlog);
int connect_datagrams(CmId& id, const rdma_conn_param* param);
int accept_datagrams(CmId& id, const rdma_conn_param* param);
int reject_datagrams(CmId& id, const void* data, std::uint8_t length);
int init_attr_of_datagrams(const CmId& id, ibv_qp_attr& attr, int& mask);
/// Under Cm::mutex: it is destroyed.
void forget_datagrams(CmId& id);

/// How to reach `peer` from the id's own address.
ibv_ah_attr way_to(const CmId& id, const ibv_gid& peer);
ibv_gid gid_of(const sockaddr& address);
/// The interface of the id's own address, or 0.
unsigned interface_of(const CmId& id);

/// The service that carries requests between ids of datagrams; one for the process.
std::unique_ptr<Service> make_sidr();

}  // namespace iwarp::rdma_core
