// SPDX-License-Identifier: Apache-2.0
// Converts an ibv_send_wr to the core's request. Used for lists of requests and for requests that
// are built call by call.
#pragma once

#include <infiniband/verbs.h>

#include <span>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

verbs::Sge to_sge(const ibv_sge& sge);
verbs::SendFlags to_flags(unsigned send_flags);

/// Fills the fields that all requests have, and returns `out`.
template <typename Wr>
Wr& begin_request(Wr& out, const ibv_send_wr& wr, std::span<const verbs::Sge> sges) {
  out.wr_id = wr.wr_id;
  out.flags = to_flags(wr.send_flags);
  out.sgl = sges;
  return out;
}

/// Fills the fields that depend on the opcode, for a queue pair of type RC or UC. `sges` are the
/// buffers of `out`; make_request() may shorten them. Returns 0 or an errno. Logs the first use of
/// each feature that iWARP lacks.
int make_request(ibv_qp_type type, verbs::SendWr& out, const ibv_send_wr& wr,
                 std::span<verbs::Sge> sges);
/// Fills a request that binds a window of either type. Returns 0 or an errno.
int make_bind(verbs::SendWr& out, const ibv_mw& mw, std::uint32_t rkey,
              const ibv_mw_bind_info& info);
/// Sets ibv_mw::rkey to the R_Key that the window will have. Call after the request that binds the
/// window was posted.
void bind_posted(ibv_mw& mw, std::uint32_t rkey);
/// Call after the core has accepted the request.
inline void was_posted(const ibv_send_wr& wr) {
  if (wr.opcode == IBV_WR_BIND_MW) bind_posted(*wr.bind_mw.mw, wr.bind_mw.rkey);
}

}  // namespace iwarp::rdma_core
