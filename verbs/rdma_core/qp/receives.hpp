// SPDX-License-Identifier: Apache-2.0
// post_receives() posts a list of receives to a receive queue of the core. The core's own function
// accepts only one receive per call.
#pragma once

#include <infiniband/verbs.h>

#include <boost/container/static_vector.hpp>
#include <cerrno>

#include "device/limits.hpp"
#include "process/errno_table.hpp"
#include "qp/send_request.hpp"

namespace iwarp::rdma_core {

/// Posts the receives in order. Returns 0 or an errno. If it fails, `wr` becomes the first receive
/// that was not posted.
template <typename Queue>
int post_receives(Queue& queue, ibv_recv_wr*& wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (wr->num_sge < 0 || wr->num_sge > kMaxSge) return EINVAL;
    boost::container::static_vector<verbs::Sge, bytes::kMaxSge> sges;
    for (int i = 0; i < wr->num_sge; ++i) sges.push_back(to_sge(wr->sg_list[i]));
    if (const auto error = queue.post_recv({.wr_id = wr->wr_id, .sgl = sges})) {
      return to_errno(error);
    }
  }
  return 0;
}

}  // namespace iwarp::rdma_core
