// SPDX-License-Identifier: Apache-2.0
// What ibv_modify_qp(3) accepts: the steps (transitions) between states, the attributes that each
// step requires and allows for each type of queue pair, and the range of each attribute.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// Selects the rules by which is_step() checks a queue pair.
enum class QpRules : std::uint8_t {
  kRc,
  kUc,
  kUd,
  /// For an RNIC's queue pair that the CM connects. No step requires the peer's address, timers or
  /// retry counts. As with the kernel's iWARP drivers, every step allows every attribute.
  kRnic,
  /// For an RNIC's queue pair without the CM. Each step requires what it requires with kRc, and
  /// allows every attribute.
  kRnicByHand,
};

/// Returns whether `mask` has all attributes that the step requires, and no other attributes than
/// those that it allows. If `mask` lacks IBV_QP_STATE, `from` and `to` must be equal.
bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask);
/// Returns whether a queue pair of any type may take the step.
bool may_change(ibv_qp_state from, ibv_qp_state to);
/// Returns whether each attribute that `mask` names is in its range.
bool is_in_range(const ibv_qp_attr& attr, int mask);

}  // namespace iwarp::rdma_core
