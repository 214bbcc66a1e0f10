// SPDX-License-Identifier: Apache-2.0
// Converts the timers and retry counts of ibv_qp_attr to time limits: how long the core waits for
// the peer. The core applies these limits only if peers acknowledge completions
// (IWARP_COMPLETIONS=acked); see rfc-notes/decisions/0023.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::rdma_core {

/// The maximum value of ibv_qp_attr::timeout, which has five bits.
inline constexpr std::uint8_t kMaxTimeout = 31;
/// The value of ibv_qp_attr::retry_cnt if the program does not set this attribute.
inline constexpr std::uint8_t kMostRetries = 7;
/// The value of ibv_qp_attr::rnr_retry and rdma_conn_param::rnr_retry_count that means unlimited
/// retries.
inline constexpr std::uint8_t kRnrForEver = 7;
/// How long a message of UC waits for a receive before it is dropped. UC is free to deliver a
/// message late. Without a wait, a receiver that does not run for a moment would lose messages of a
/// peer on the same host, which no network slows down.
inline constexpr std::chrono::milliseconds kUcReceiveHold{100};

/// Returns how long the core waits for the peer. `said` is the mask of IBV_QP_* bits of all
/// attributes that the program has set so far; the function ignores the other attributes.
verbs::PeerTimeouts peer_timeouts(const ibv_qp_attr& attr, int said);

}  // namespace iwarp::rdma_core
