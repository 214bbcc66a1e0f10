// SPDX-License-Identifier: Apache-2.0
// Logs why a post was refused. These functions examine the request a second time, after the post
// has failed, so that a post that succeeds needs no extra work.
#pragma once

#include <infiniband/verbs.h>

#include <span>

#include "iwarp/verbs/types.hpp"

namespace iwarp::rdma_core {

struct Qp;
struct Srq;

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
