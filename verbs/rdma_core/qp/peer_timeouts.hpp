// SPDX-License-Identifier: Apache-2.0
// Converts the timers and retry counts of ibv_qp_attr to time limits: how long the core waits for
// the peer. The core applies these limits only if peers acknowledge completions
// (IWARP_COMPLETIONS=acked); see rfc-notes/decisions/0023.
#pragma once

#include <infiniband/verbs.h>

#include <array>
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

/// The delay in microseconds for each value of ibv_qp_attr::min_rnr_timer, which has five bits.
inline constexpr std::array<std::chrono::microseconds::rep, 32> kRnrTimers{
    655'360, 10,     20,     30,     40,     60,      80,      120,     160,     240,    320,
    480,     640,    960,    1'280,  1'920,  2'560,   3'840,   5'120,   7'680,   10'240, 15'360,
    20'480,  30'720, 40'960, 61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};

/// Returns how long the core waits for the peer. `said` is the mask of IBV_QP_* bits of all
/// attributes that the program has set so far; the function ignores the other attributes.
/// [IBV-324, IBV-480]
inline verbs::PeerTimeouts peer_timeouts(const ibv_qp_attr& attr, int said) {
  constexpr int kRnrBits = IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER;
  verbs::PeerTimeouts out;
  const unsigned timeout = attr.timeout & kMaxTimeout;
  if ((said & IBV_QP_TIMEOUT) != 0 && timeout != 0) {
    out.answer =
        std::chrono::nanoseconds(4096) * (std::int64_t{1} << timeout) * ((attr.retry_cnt & 7U) + 1);
  }
  if ((said & IBV_QP_RNR_RETRY) != 0 && attr.rnr_retry >= kRnrForEver) {
    out.receive_hold = verbs::PeerTimeouts::kForEver;
  } else if ((said & kRnrBits) == kRnrBits) {
    out.receive_hold =
        std::chrono::microseconds(kRnrTimers[attr.min_rnr_timer & 31U]) * attr.rnr_retry;
  }
  return out;
}

}  // namespace iwarp::rdma_core
