// SPDX-License-Identifier: Apache-2.0
// Checks the arguments of ibv_modify_qp(3): whether a step (a transition between two states)
// exists, which attributes it requires and allows for each type of queue pair, and the range of
// each attribute.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace iwarp::rdma_core {

/// Selects the rules by which is_step() checks a queue pair.
enum class QpRules : std::uint8_t {
  kRc,
  kUc,
  kUd,
  /// Rules for a queue pair of an RNIC that the CM connects. No step requires the peer's address,
  /// timers or retry counts. As with the kernel's iWARP drivers, every step allows every attribute.
  kRnic,
  /// Rules for a queue pair of an RNIC that is connected without the CM. Each step requires the
  /// same attributes as with kRc, and allows every attribute.
  kRnicByHand,
};

/// Returns whether the step from `from` to `to` exists, and `mask` contains all attributes that the
/// step requires and only attributes that the step allows. If `mask` lacks IBV_QP_STATE, `from` and
/// `to` must be equal.
bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask);
/// Returns whether the step from `from` to `to` exists for at least one type of queue pair.
bool may_change(ibv_qp_state from, ibv_qp_state to);
/// Returns whether each attribute that `mask` names is in its range.
bool is_in_range(const ibv_qp_attr& attr, int mask);

}  // namespace iwarp::rdma_core
