// SPDX-License-Identifier: Apache-2.0
// The state transitions ("steps") of a queue pair from the InfiniBand specification (volume 1,
// section 11.2.5.2). For each step a table has the attributes that the kernel requires and allows
// in ib_modify_qp_is_ok(). The table has no step to SQD, because programs cannot request that
// state.
#include "qp/steps.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "device/limits.hpp"

namespace iwarp::rdma_core {
namespace {

struct Attributes {
  int required = 0;
  int allowed = 0;  ///< allowed in addition to `required` and IBV_QP_STATE
};
/// Nullopt if queue pairs of this type cannot take the step.
using Column = std::optional<Attributes>;

struct Step {
  ibv_qp_state from;
  ibv_qp_state to;
  Column rc;
  Column uc;
  Column ud;
  Column rnic;
};

constexpr int kAny = -1;
constexpr Attributes kNothing{};
constexpr Attributes kAnything{0, kAny};

constexpr int kPortAndKey = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kToPeer = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRetries = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
constexpr int kAltPath = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr int kRunning = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | kAltPath;
constexpr int kUdRunning = IBV_QP_CUR_STATE | IBV_QP_QKEY;

constexpr Attributes kInit{kPortAndKey | IBV_QP_ACCESS_FLAGS, 0};
constexpr Attributes kInitAgain{0, kPortAndKey | IBV_QP_ACCESS_FLAGS};
constexpr int kReceivesToo = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;

/// Returns a step in which the program may set no attribute other than the state. With the queue
/// pair of an RNIC, the program may set any attribute.
constexpr Step plain(ibv_qp_state from, ibv_qp_state to) {
  return {from, to, kNothing, kNothing, kNothing, kAnything};
}

constexpr std::array kSteps{
    plain(IBV_QPS_RESET, IBV_QPS_RESET),
    Step{IBV_QPS_RESET, IBV_QPS_INIT, kInit, kInit, Attributes{kPortAndKey | IBV_QP_QKEY, 0},
         Attributes{IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, kAny}},
    // A new queue pair of an RNIC is in RESET but behaves as in INIT, so this step to ERR is
    // allowed.
    Step{IBV_QPS_RESET, IBV_QPS_ERR, {}, {}, {}, kAnything},
    plain(IBV_QPS_INIT, IBV_QPS_RESET),
    plain(IBV_QPS_INIT, IBV_QPS_ERR),
    Step{IBV_QPS_INIT, IBV_QPS_INIT, kInitAgain, kInitAgain,
         Attributes{0, kPortAndKey | IBV_QP_QKEY}, kAnything},
    Step{IBV_QPS_INIT, IBV_QPS_RTR,
         Attributes{kToPeer | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, kReceivesToo},
         Attributes{kToPeer, kReceivesToo}, Attributes{0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
         kAnything},
    plain(IBV_QPS_RTR, IBV_QPS_RESET),
    plain(IBV_QPS_RTR, IBV_QPS_ERR),
    Step{IBV_QPS_RTR, IBV_QPS_RTR, {}, {}, {}, kAnything},
    Step{IBV_QPS_RTR, IBV_QPS_RTS,
         Attributes{kRetries | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                    kRunning | IBV_QP_MIN_RNR_TIMER},
         Attributes{IBV_QP_SQ_PSN, kRunning}, Attributes{IBV_QP_SQ_PSN, kUdRunning}, kAnything},
    plain(IBV_QPS_RTS, IBV_QPS_RESET),
    plain(IBV_QPS_RTS, IBV_QPS_ERR),
    Step{IBV_QPS_RTS, IBV_QPS_RTS, Attributes{0, kRunning | IBV_QP_MIN_RNR_TIMER},
         Attributes{0, kRunning}, Attributes{0, kUdRunning}, kAnything},
    plain(IBV_QPS_SQD, IBV_QPS_RESET),
    plain(IBV_QPS_SQD, IBV_QPS_ERR),
    plain(IBV_QPS_SQE, IBV_QPS_RESET),
    plain(IBV_QPS_SQE, IBV_QPS_ERR),
    Step{IBV_QPS_SQE,
         IBV_QPS_RTS,
         {},
         Attributes{0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
         Attributes{0, kUdRunning},
         {}},
    plain(IBV_QPS_ERR, IBV_QPS_RESET),
    plain(IBV_QPS_ERR, IBV_QPS_ERR),
};

const Step* find(ibv_qp_state from, ibv_qp_state to) {
  const auto* const found = std::ranges::find_if(
      kSteps, [&](const Step& step) { return step.from == from && step.to == to; });
  return found != kSteps.end() ? found : nullptr;
}

Column column(const Step& step, QpRules rules) {
  switch (rules) {
    case QpRules::kUc:
      return step.uc;
    case QpRules::kUd:
      return step.ud;
    case QpRules::kRnic:
      return step.rnic;
    case QpRules::kRnicByHand:
      return step.rc ? Attributes{step.rc->required, kAny} : step.rnic;
    default:
      return step.rc;
  }
}

struct Range {
  int bit;
  unsigned (*value)(const ibv_qp_attr& attr);
  unsigned least;
  unsigned most;
};
constexpr unsigned kThePort = 1;
constexpr unsigned kMost3Bits = 7;
constexpr unsigned kMost5Bits = 31;
constexpr unsigned kMostQpNum = 0xFFFFFF;
constexpr std::array kRanges{
    Range{IBV_QP_PORT, [](const auto& a) -> unsigned { return a.port_num; }, kThePort, kThePort},
    Range{IBV_QP_PKEY_INDEX, [](const auto& a) -> unsigned { return a.pkey_index; }, 0, 0},
    Range{IBV_QP_AV, [](const auto& a) -> unsigned { return a.ah_attr.port_num; }, kThePort,
          kThePort},
    Range{IBV_QP_PATH_MTU, [](const auto& a) -> unsigned { return a.path_mtu; }, IBV_MTU_256,
          IBV_MTU_4096},
    Range{IBV_QP_DEST_QPN, [](const auto& a) -> unsigned { return a.dest_qp_num; }, 0, kMostQpNum},
    Range{IBV_QP_TIMEOUT, [](const auto& a) -> unsigned { return a.timeout; }, 0, kMost5Bits},
    Range{IBV_QP_RETRY_CNT, [](const auto& a) -> unsigned { return a.retry_cnt; }, 0, kMost3Bits},
    Range{IBV_QP_RNR_RETRY, [](const auto& a) -> unsigned { return a.rnr_retry; }, 0, kMost3Bits},
    Range{IBV_QP_MIN_RNR_TIMER, [](const auto& a) -> unsigned { return a.min_rnr_timer; }, 0,
          kMost5Bits},
    Range{IBV_QP_MAX_QP_RD_ATOMIC, [](const auto& a) -> unsigned { return a.max_rd_atomic; }, 0,
          kMaxReads},
    Range{IBV_QP_MAX_DEST_RD_ATOMIC, [](const auto& a) -> unsigned { return a.max_dest_rd_atomic; },
          0, kMaxReads},
    Range{IBV_QP_ALT_PATH, [](const auto& a) -> unsigned { return a.alt_port_num; }, kThePort,
          kThePort},
};

}  // namespace

bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask) {
  const Step* const step = find(from, to);
  if (step == nullptr) return false;
  const Column takes = column(*step, rules);
  return takes && (mask & takes->required) == takes->required &&
         (mask & ~(takes->required | takes->allowed | IBV_QP_STATE)) == 0;
}

bool may_change(ibv_qp_state from, ibv_qp_state to) { return find(from, to) != nullptr; }

bool is_in_range(const ibv_qp_attr& attr, int mask) {
  return std::ranges::all_of(kRanges, [&](const Range& range) {
    if ((mask & range.bit) == 0) return true;
    const unsigned value = range.value(attr);
    return range.least <= value && value <= range.most;
  });
}

}  // namespace iwarp::rdma_core
