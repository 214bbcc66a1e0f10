// SPDX-License-Identifier: Apache-2.0
// What the library tells libiwarp_presence.so.1, if that library is loaded: the TCP ports that
// rdma_cm ids of the program are bound to. The program may bind a TCP socket to the same number.
// The kernel refuses this, and libiwarp_presence.so.1 can then say why.
#pragma once

#include <cstdint>

namespace iwarp::rdma_core {

/// The exported name of a UsedPortFunction in libiwarp_presence.so.1.
constexpr const char* kUsedPortSymbol = "iwarp_used_port";
/// Called after an id was bound to this TCP port.
using UsedPortFunction = void(std::uint16_t tcp_port);

}  // namespace iwarp::rdma_core
