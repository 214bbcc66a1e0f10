// SPDX-License-Identifier: Apache-2.0
// The timers and retries of ibv_qp_attr as a time that the core bears with its peer. They count
// where completions are acknowledged (IWARP_COMPLETIONS), see rfc-notes/decisions/0023.
#pragma once

#include <infiniband/verbs.h>

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::rdma_core {

/// ibv_qp_attr::timeout has five bits.
inline constexpr std::uint8_t kMaxTimeout = 31;
/// ibv_qp_attr::retry_cnt where the program does not say.
inline constexpr std::uint8_t kMostRetries = 7;
/// ibv_qp_attr::rnr_retry and rdma_conn_param::rnr_retry_count.
inline constexpr std::uint8_t kRnrForEver = 7;

/// `said`: the IBV_QP_* bits of what the program has set in `attr` so far.
verbs::PeerTimeouts peer_timeouts(const ibv_qp_attr& attr, int said);

}  // namespace iwarp::rdma_core
