// SPDX-License-Identifier: Apache-2.0
// Converts the timers and retries of ibv_qp_attr to the time for which the core waits for its peer.
// They apply if completions are acknowledged (IWARP_COMPLETIONS), see rfc-notes/decisions/0023.
#pragma once

#include <infiniband/verbs.h>

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::rdma_core {

/// The maximum of ibv_qp_attr::timeout, which has five bits.
inline constexpr std::uint8_t kMaxTimeout = 31;
/// ibv_qp_attr::retry_cnt if the program does not set it.
inline constexpr std::uint8_t kMostRetries = 7;
/// The value of ibv_qp_attr::rnr_retry and rdma_conn_param::rnr_retry_count for endless retries.
inline constexpr std::uint8_t kRnrForEver = 7;

/// `said`: the IBV_QP_* bits of the attributes that the program has set so far.
verbs::PeerTimeouts peer_timeouts(const ibv_qp_attr& attr, int said);

}  // namespace iwarp::rdma_core
