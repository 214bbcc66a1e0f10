// SPDX-License-Identifier: Apache-2.0
// Datagram ids: ids of RDMA_PS_UDP and RDMA_PS_IPOIB, which exist only with IWARP_AS=roce. This
// header declares the functions of cm/datagrams.cpp and cm/multicast.cpp that the other files in
// cm/ call.
#pragma once

#include "cm/id.hpp"

namespace iwarp::rdma_core {

bool is_datagram(const CmId& id);
/// The Q_Key of a datagram id for which the program sets no other Q_Key. It has the same value as
/// RDMA_UDP_QKEY.
inline constexpr std::uint32_t kUdpQKey = 0x01234567;

/// Opens a UDP port for the id unless it already has one. Returns 0 or an errno.
int open_any(CmId& id);
// Each function below implements one call of the CM for datagram ids. For example, bind_datagrams()
// implements rdma_bind_addr(). All of them return 0 or an errno.
int bind_datagrams(CmId& id, const sockaddr& address);
int listen_datagrams(CmId& id, int backlog);
int connect_datagrams(CmId& id, const rdma_conn_param* param);
int accept_datagrams(CmId& id, const rdma_conn_param* param);
int reject_datagrams(CmId& id, const void* data, std::uint8_t length);
int init_attr_of_datagrams(const CmId& id, ibv_qp_attr& attr, int& mask);
/// Releases the UDP port of an id that is being destroyed. Call with Cm::mutex locked.
void forget_datagrams(CmId& id);

/// Returns the attributes of an address handle for the path from the id's own address to `peer`.
ibv_ah_attr way_to(const CmId& id, const ibv_gid& peer);
ibv_gid gid_of(const sockaddr& address);
/// Returns the index of the network interface that has the id's own address, or 0 if there is none.
unsigned interface_of(const CmId& id);

/// Makes the service that sends and receives requests between datagram ids.
std::unique_ptr<Sidr> make_sidr();

}  // namespace iwarp::rdma_core
