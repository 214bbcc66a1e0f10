// SPDX-License-Identifier: Apache-2.0
// Address handles: the path to a peer, resolved when the handle is created.
#pragma once

#include <infiniband/verbs.h>

#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::rdma_core {

struct Ah {
  ibv_ah abi{};  ///< must be the first member, see of()
  verbs::DatagramPath path;

  static Ah& of(ibv_ah* ah) { return *reinterpret_cast<Ah*>(ah); }
};

verbs::IpAddress to_ip(const ibv_gid& gid);
ibv_gid to_gid(const verbs::IpAddress& ip);
/// Returns the source address of the datagram that was received with this GRH.
ibv_gid sender_of(const ibv_grh& grh);

}  // namespace iwarp::rdma_core
