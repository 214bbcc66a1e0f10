// SPDX-License-Identifier: Apache-2.0
// Address handles. A handle contains the path to a peer, which is resolved when the handle is
// created.
#pragma once

#include <infiniband/verbs.h>

#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::rdma_core {

struct Ah {
  ibv_ah abi{};  ///< must be the first member, as the cast in of() requires
  verbs::DatagramPath path;

  static Ah& of(ibv_ah* ah) { return *reinterpret_cast<Ah*>(ah); }
};

verbs::IpAddress to_ip(const ibv_gid& gid);
ibv_gid to_gid(const verbs::IpAddress& ip);
/// Returns the source address of the datagram that was received with this GRH.
ibv_gid sender_of(const ibv_grh& grh);

}  // namespace iwarp::rdma_core
