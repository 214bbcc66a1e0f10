// SPDX-License-Identifier: Apache-2.0
// Checks the arguments of ibv_modify_qp(3): whether a step (a transition between two states)
// exists, which attributes it requires and allows for each type of queue pair, and the range of
// each attribute.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "device/device.hpp"

namespace iwarp::rdma_core {

/// Selects the rules by which is_step() checks a queue pair.
enum class QpRules : std::uint8_t {
  kRc,
  kUc,
  kUd,
  /// Rules for a queue pair of an RNIC that the CM connects. No step requires the peer's address,
  /// timers or retry counts. As with the kernel's iWARP drivers, every step allows every attribute
  /// that the device has.
  kRnic,
  /// Rules for a queue pair of an RNIC that is connected without the CM. Each step requires the
  /// same attributes as with kRc, and allows every attribute.
  kRnicByHand,
};

/// Returns 0 if the step from `from` to `to` exists, and `mask` contains all attributes that the
/// step requires and only attributes that the step allows. Otherwise returns EINVAL after
/// refused(). If `mask` lacks IBV_QP_STATE, `from` and `to` must be equal.
int check_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask);
/// Returns what check_step() would return, as a bool, and logs nothing.
bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask);
/// Returns whether the step from `from` to `to` exists for at least one type of queue pair.
bool may_change(ibv_qp_state from, ibv_qp_state to);
/// Returns 0 if each attribute that `mask` names is in its range on this device. Otherwise returns
/// EINVAL after refused().
int check_ranges(const Device& device, const ibv_qp_attr& attr, int mask);
/// Refuses a step because IBV_QP_CUR_STATE names another state than `from`. Returns EINVAL.
int refuse_state(const ibv_qp_attr& attr, ibv_qp_state from);
/// Returns the name of the state, for example "RTR".
const char* name_of(ibv_qp_state state);

}  // namespace iwarp::rdma_core
