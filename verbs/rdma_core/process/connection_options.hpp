// SPDX-License-Identifier: Apache-2.0
// From the settings of the process to the options of one connection or listener.
#pragma once

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::rdma_core {

/// Refused or reset connects are tried again for a moment: servers under rdma_cm close a listener
/// and open the next, and with real devices their peers are too slow to notice.
net::ConnectOptions connect_options();
/// Throws std::system_error, which was said, where TLS is wanted and nothing to listen with is
/// there.
net::ListenOptions listen_options();
/// For one queue pair of datagrams; null: nobody looks.
std::shared_ptr<verbs::DatagramTap> datagram_tap();
/// For port 0.
net::PortRange port_range();

}  // namespace iwarp::rdma_core
