// SPDX-License-Identifier: Apache-2.0
// Converts the settings of the process to the options of one connection or listener.
#pragma once

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::rdma_core {

/// Returns options that retry a refused or reset connect for a moment: servers under rdma_cm close
/// a listener and open the next, and with real devices their peers are too slow to notice.
net::ConnectOptions connect_options();
/// Logs the reason and throws std::system_error if TLS is requested and there is no certificate or
/// key to listen with.
net::ListenOptions listen_options();
/// Returns an observer for one queue pair of datagrams, or null if there is no trace.
std::shared_ptr<verbs::DatagramTap> datagram_tap();
/// Returns the range from which port 0 is chosen.
net::PortRange port_range();

}  // namespace iwarp::rdma_core
