// SPDX-License-Identifier: Apache-2.0
// Converts the timers and retry counts of ibv_qp_attr to time limits: how long the core waits for
// the peer. The core applies these limits only if peers acknowledge completions
// (IWARP_COMPLETIONS=acked); see rfc-notes/decisions/0023.
#pragma once

#include <infiniband/verbs.h>

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::rdma_core {

/// The maximum value of ibv_qp_attr::timeout, which has five bits.
inline constexpr std::uint8_t kMaxTimeout = 31;
/// The value of ibv_qp_attr::retry_cnt if the program does not set this attribute.
inline constexpr std::uint8_t kMostRetries = 7;
/// The value of ibv_qp_attr::rnr_retry and rdma_conn_param::rnr_retry_count that means unlimited
/// retries.
inline constexpr std::uint8_t kRnrForEver = 7;

/// Returns how long the core waits for the peer. `said` is the mask of IBV_QP_* bits of all
/// attributes that the program has set so far; the function ignores the other attributes.
verbs::PeerTimeouts peer_timeouts(const ibv_qp_attr& attr, int said);

}  // namespace iwarp::rdma_core
