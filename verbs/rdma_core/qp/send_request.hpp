// SPDX-License-Identifier: Apache-2.0
// From an ibv_send_wr to the core's request, for lists and for requests that are built call by
// call.
#pragma once

#include <infiniband/verbs.h>

#include <span>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

verbs::Sge to_sge(const ibv_sge& sge);
verbs::SendFlags to_flags(unsigned send_flags);

/// What all requests have; returns `out`.
template <typename Wr>
Wr& begin_request(Wr& out, const ibv_send_wr& wr, std::span<const verbs::Sge> sges) {
  out.wr_id = wr.wr_id;
  out.flags = to_flags(wr.send_flags);
  out.sgl = sges;
  return out;
}

/// Fills what is special to the opcode on a queue pair of type RC or UC. `sges`: those of `out`,
/// which may be changed. An errno; what iWARP does not have is logged once.
int make_request(ibv_qp_type type, verbs::SendWr& out, const ibv_send_wr& wr,
                 std::span<verbs::Sge> sges);
/// Of a window of either type.
int make_bind(verbs::SendWr& out, const ibv_mw& mw, std::uint32_t rkey,
              const ibv_mw_bind_info& info);
/// The window's R_Key is the one that it will have.
void bind_posted(ibv_mw& mw, std::uint32_t rkey);
/// The core has taken the request.
inline void was_posted(const ibv_send_wr& wr) {
  if (wr.opcode == IBV_WR_BIND_MW) bind_posted(*wr.bind_mw.mw, wr.bind_mw.rkey);
}

}  // namespace iwarp::rdma_core
