// SPDX-License-Identifier: Apache-2.0
// Converts the settings of the process to the options of one connection or listener.
#pragma once

#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::rdma_core {

/// Returns the options for a connect. They include a short time in which a connect that is refused
/// or reset is retried. Servers that use rdma_cm close one listener before they open the next one.
/// With hardware adapters, a connect takes longer than the time between these two steps. With this
/// library, a connect can arrive between them, while no listener is open.
net::ConnectOptions connect_options();
/// Returns the options for a listener. If TLS is requested but the certificate or the key that a
/// listener needs is missing, logs the reason and throws std::system_error.
net::ListenOptions listen_options();
/// Returns an observer that writes the datagrams of one queue pair to the trace file, or null if
/// IWARP_TRACE is not set.
std::shared_ptr<verbs::DatagramTap> datagram_tap();
/// Returns the range of ports (IWARP_PORT_RANGE) from which the library chooses a port when the
/// program binds to port 0.
net::PortRange port_range();

}  // namespace iwarp::rdma_core
