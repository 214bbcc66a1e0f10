// SPDX-License-Identifier: Apache-2.0
// What ibv_modify_qp(3) takes: which steps between states there are, which attributes each of them
// requires and which it allows, for every type of queue pair, and which values attributes may have.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// Whose attributes a queue pair takes.
enum class QpRules : std::uint8_t {
  kRc,
  kUc,
  kUd,
  /// An RNIC's that the CM connects: it requires neither where the peer is nor how to repeat
  /// packets. As with the kernel's iWARP drivers, every step allows every attribute.
  kRnic,
  kRnicByHand,  ///< the same without the CM: requires what RC requires
};

/// Returns whether `mask` has what the step requires, and nothing else but what it allows. Without
/// IBV_QP_STATE `from` and `to` are the same.
bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask);
/// Returns whether a queue pair of any type may take the step.
bool may_change(ibv_qp_state from, ibv_qp_state to);
/// Returns whether each attribute that `mask` names has a value that it can have.
bool is_in_range(const ibv_qp_attr& attr, int mask);

}  // namespace iwarp::rdma_core
