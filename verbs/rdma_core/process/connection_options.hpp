// SPDX-License-Identifier: Apache-2.0
// Converts the settings of the process to the options of one connection or listener.
#pragma once

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::rdma_core {

/// Returns options for a connect. With them, a connect that is refused or reset is repeated for a
/// moment: rdma_cm servers close one listener before they open the next, and with real devices
/// their clients are too slow to connect in between.
net::ConnectOptions connect_options();
/// Returns options for a listener. Logs the reason and throws std::system_error if TLS is requested
/// and the certificate or the key that a listener needs is missing.
net::ListenOptions listen_options();
/// Returns an observer that writes the datagrams of one queue pair to the trace, or null if there
/// is no trace.
std::shared_ptr<verbs::DatagramTap> datagram_tap();
/// Returns the range (IWARP_PORT_RANGE) from which a port is chosen when the program binds to port
/// 0.
net::PortRange port_range();

}  // namespace iwarp::rdma_core
