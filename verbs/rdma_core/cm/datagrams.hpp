// SPDX-License-Identifier: Apache-2.0
// Ids of RDMA_PS_UDP and RDMA_PS_IPOIB, which exist as RoCE only: the functions of cm/datagrams.cpp
// and cm/multicast.cpp that the files about connections call.
#pragma once

#include "cm/id.hpp"

namespace iwarp::rdma_core {

bool is_datagram(const CmId& id);
/// The Q_Key of datagram ids unless the program sets another one: RDMA_UDP_QKEY.
inline constexpr std::uint32_t kUdpQKey = 0x01234567;

// These do for datagram ids what the calls with the same names do for ids with connections. They
// return 0 or an errno.
int bind_datagrams(CmId& id, const sockaddr& address);
int listen_datagrams(CmId& id, int backlog);
int connect_datagrams(CmId& id, const rdma_conn_param* param);
int accept_datagrams(CmId& id, const rdma_conn_param* param);
int reject_datagrams(CmId& id, const void* data, std::uint8_t length);
int init_attr_of_datagrams(const CmId& id, ibv_qp_attr& attr, int& mask);
/// Releases the port of an id that is destroyed. Call with Cm::mutex held.
void forget_datagrams(CmId& id);

/// Returns the attributes of an address handle from the id's own address to `peer`.
ibv_ah_attr way_to(const CmId& id, const ibv_gid& peer);
ibv_gid gid_of(const sockaddr& address);
/// Returns the interface of the id's own address, or 0.
unsigned interface_of(const CmId& id);

/// Returns the process's service for requests between datagram ids.
std::unique_ptr<Service> make_sidr();

}  // namespace iwarp::rdma_core
