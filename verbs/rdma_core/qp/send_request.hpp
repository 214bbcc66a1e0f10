// SPDX-License-Identifier: Apache-2.0
// Converts an ibv_send_wr to a request of the core. ibv_post_send() and the builders of ibv_qp_ex
// both use these functions.
#pragma once

#include <infiniband/verbs.h>

#include <span>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

struct Qp;
struct Srq;

verbs::Sge to_sge(const ibv_sge& sge);
verbs::SendFlags to_flags(unsigned send_flags);

/// Fills those fields of `out` that do not depend on the opcode, and returns `out`.
template <typename Wr>
Wr& begin_request(Wr& out, const ibv_send_wr& wr, std::span<const verbs::Sge> sges) {
  out.wr_id = wr.wr_id;
  out.flags = to_flags(wr.send_flags);
  out.sgl = sges;
  return out;
}

/// Fills those fields of `out` that depend on the opcode, for a queue pair of type RC or UC. `sges`
/// are the buffers of `out`; the function may shorten a buffer in place. Returns 0 or an errno.
/// Logs the first use of each feature that iWARP lacks.
int make_request(const Qp& qp, verbs::SendWr& out, const ibv_send_wr& wr,
                 std::span<verbs::Sge> sges);
/// Fills `out` as a request that binds a window of type 1 or 2. Returns 0 or an errno.
int make_bind(verbs::SendWr& out, const ibv_mw& mw, std::uint32_t rkey,
              const ibv_mw_bind_info& info);
/// Sets ibv_mw::rkey to the R_Key that the window will have. Call after the request that binds the
/// window was posted.
void bind_posted(ibv_mw& mw, std::uint32_t rkey);
/// Call after the core has accepted the request `wr`. Updates ibv_mw::rkey if `wr` binds a window.
inline void was_posted(const ibv_send_wr& wr) {
  if (wr.opcode == IBV_WR_BIND_MW) bind_posted(*wr.bind_mw.mw, wr.bind_mw.rkey);
}

// The functions below examine a request a second time, after the post has failed, so that a post
// that succeeds needs no extra work.
/// Logs why the queue pair has refused the request `wr` with the errno `code`. `sges` are the
/// buffers of the request. Call with a CallSite, or the log gets no line.
void explain_request(const Qp& qp, const ibv_send_wr& wr, std::span<verbs::Sge> sges, int code);
/// Logs why ibv_post_send(), called from `place`, has failed with `code`. `wr` is the request that
/// was refused.
[[gnu::cold]] void explain_send(const Qp& qp, const ibv_send_wr* wr, int code, const void* place);
/// Do the same for ibv_post_recv() and ibv_post_srq_recv().
[[gnu::cold]] void explain_receive(const Qp& qp, const ibv_recv_wr* wr, int code,
                                   const void* place);
[[gnu::cold]] void explain_receive(const Srq& srq, const ibv_recv_wr* wr, int code,
                                   const void* place);

}  // namespace iwarp::rdma_core
