// SPDX-License-Identifier: Apache-2.0
// What ibv_modify_qp(3) accepts: the steps between states, the attributes that each step requires
// and allows for each type of queue pair, and the range of each attribute.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// The rules that apply to a queue pair.
enum class QpRules : std::uint8_t {
  kRc,
  kUc,
  kUd,
  /// An RNIC's queue pair that the CM connects. It requires neither the peer's address nor timers
  /// and retries. As with the kernel's iWARP drivers, every step allows every attribute.
  kRnic,
  kRnicByHand,  ///< an RNIC's queue pair without the CM: requires what RC requires
};

/// Returns whether `mask` has all attributes that the step requires, and otherwise only those that
/// it allows. Without IBV_QP_STATE in `mask`, `from` and `to` must be equal.
bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask);
/// Returns whether a queue pair of any type may take the step.
bool may_change(ibv_qp_state from, ibv_qp_state to);
/// Returns whether each attribute that `mask` names is in its range.
bool is_in_range(const ibv_qp_attr& attr, int mask);

}  // namespace iwarp::rdma_core
