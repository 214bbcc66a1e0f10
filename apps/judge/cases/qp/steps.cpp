// SPDX-License-Identifier: Apache-2.0
// Cases about the states of a queue pair: which transitions ibv_modify_qp() makes, and which
// attributes each of them needs and permits (IBTA vol. 1, section 11.2.5.2; ib_modify_qp_is_ok() of
// the kernel). A refused call changes nothing.
#include <fmt/format.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::qp_steps {
namespace {

constexpr std::array kStates{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                             IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};

constexpr unsigned bit(ibv_qp_state state) { return 1U << state; }
constexpr unsigned kAlways = bit(IBV_QPS_RESET) | bit(IBV_QPS_ERR);
/// The states that follow each state, as bits.
constexpr std::array kFollowing{
    bit(IBV_QPS_RESET) | bit(IBV_QPS_INIT),
    kAlways | bit(IBV_QPS_INIT) | bit(IBV_QPS_RTR),
    kAlways | bit(IBV_QPS_RTS),
    kAlways | bit(IBV_QPS_RTS) | bit(IBV_QPS_SQD),
    kAlways | bit(IBV_QPS_RTS) | bit(IBV_QPS_SQD),
    kAlways | bit(IBV_QPS_RTS),
    kAlways,
};

/// The bits of the step between two states; between states that are not neighbours, those that the
/// step to `to` normally has, so that only the transition is wrong.
int mask_between(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  const bool is_again = from == to || from == IBV_QPS_SQD || from == IBV_QPS_SQE;
  return is_again ? IBV_QP_STATE : full_mask(type, to);
}

template <ibv_qp_type type, ibv_qp_state from>
void transitions(Judge& j) {
  for (const auto to : kStates) {
    End end(j, {.type = type});
    bring(end, from);
    const int code = end.modify(to, mask_between(type, from, to));
    const std::string name = fmt::format("ibv_modify_qp to {}", state_name(to));
    if (from == IBV_QPS_RESET && to == IBV_QPS_ERR) {
      // The kernel refuses what IBTA permits from any state.
      j.expect(name, code, {0, EINVAL});
      continue;
    }
    if (to == IBV_QPS_SQD && (code == EOPNOTSUPP || code == ENOSYS)) continue;
    const bool is_allowed = (kFollowing[from] & bit(to)) != 0;
    j.expect(name, code, {is_allowed ? 0 : EINVAL});
    expect_same_state(j, name, end, is_allowed ? to : from);
  }
}

constexpr ibv_qp_state before(ibv_qp_state state) { return static_cast<ibv_qp_state>(state - 1); }

template <ibv_qp_type type, ibv_qp_state to, int missing>
void without(Judge& j) {
  End end(j, {.type = type});
  bring(end, before(to));
  j.expect("ibv_modify_qp without the attribute", step(end, to, missing), {EINVAL});
  expect_same_state(j, "the refused call", end, before(to));
  j.expect("ibv_modify_qp with the attribute", step(end, to));
}

struct Attribute {
  int bit;
  const char* name;
};
constexpr std::array kAttributes{
    Attribute{IBV_QP_CUR_STATE, "CUR_STATE"},
    Attribute{IBV_QP_EN_SQD_ASYNC_NOTIFY, "EN_SQD_ASYNC_NOTIFY"},
    Attribute{IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS"},
    Attribute{IBV_QP_PKEY_INDEX, "PKEY_INDEX"},
    Attribute{IBV_QP_PORT, "PORT"},
    Attribute{IBV_QP_QKEY, "QKEY"},
    Attribute{IBV_QP_AV, "AV"},
    Attribute{IBV_QP_PATH_MTU, "PATH_MTU"},
    Attribute{IBV_QP_TIMEOUT, "TIMEOUT"},
    Attribute{IBV_QP_RETRY_CNT, "RETRY_CNT"},
    Attribute{IBV_QP_RNR_RETRY, "RNR_RETRY"},
    Attribute{IBV_QP_RQ_PSN, "RQ_PSN"},
    Attribute{IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC"},
    Attribute{IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER"},
    Attribute{IBV_QP_SQ_PSN, "SQ_PSN"},
    Attribute{IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC"},
    Attribute{IBV_QP_DEST_QPN, "DEST_QPN"},
};

/// Attributes that a step permits beside those that it needs. Alternate paths are not judged,
/// because few devices have them.
template <ibv_qp_type type>
constexpr int optional(ibv_qp_state from, ibv_qp_state to) {
  const int key = type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  const int timer = type == IBV_QPT_RC ? IBV_QP_MIN_RNR_TIMER : 0;
  if (to == IBV_QPS_INIT && from == to) return key | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (to == IBV_QPS_RTR) return key | IBV_QP_PKEY_INDEX;
  if (to == IBV_QPS_RTS && from == IBV_QPS_SQE) return key | IBV_QP_CUR_STATE;
  if (to == IBV_QPS_RTS) return key | IBV_QP_CUR_STATE | timer;
  return 0;
}

// One queue pair serves for all attributes that are refused, because a refused call changes
// nothing. Each permitted one needs a queue pair of its own.
template <ibv_qp_type type, ibv_qp_state from, ibv_qp_state to>
void others(Judge& j) {
  const int needed = mask_between(type, from, to);
  End one(j, {.type = type});
  bring(one, from);
  for (const auto& [bit, name] : kAttributes) {
    if ((needed & bit) != 0) continue;
    const std::string call = fmt::format("ibv_modify_qp with IBV_QP_{}", name);
    if ((optional<type>(from, to) & bit) != 0) {
      End end(j, {.type = type});
      bring(end, from);
      end.attr.dest_qp_num = end.qp->qp_num;
      end.attr.cur_qp_state = from;
      j.expect(call, end.modify(to, needed | bit));
      continue;
    }
    one.attr.dest_qp_num = one.qp->qp_num;
    one.attr.cur_qp_state = from;
    j.expect(call, one.modify(to, needed | bit), {EINVAL});
    expect_same_state(j, call, one, from);
  }
}

template <ibv_qp_state claimed>
void wrong_current_state(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTR);
  end.attr.cur_qp_state = claimed;
  j.expect("ibv_modify_qp", step(end, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE), {EINVAL});
  expect_same_state(j, "the refused call", end, IBV_QPS_RTR);
}

void unknown_state(Judge& j) {
  End end(j);
  end.attr.qp_state = static_cast<ibv_qp_state>(IBV_QPS_ERR + 1);
  j.expect("ibv_modify_qp", errno_of(ibv_modify_qp(end.qp.get(), &end.attr, IBV_QP_STATE)),
           {EINVAL});
}

void unknown_bit(Judge& j) {
  End end(j);
  j.expect("ibv_modify_qp", end.to_init(0, 1 << 30), {EINVAL, EOPNOTSUPP});
  expect_same_state(j, "the refused call", end, IBV_QPS_RESET);
}

// Without IBV_QP_STATE, the queue pair stays in its state, and takes what that step permits.
void without_state(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTS);
  end.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  j.expect("ibv_modify_qp", end.modify(IBV_QPS_RESET, IBV_QP_ACCESS_FLAGS));
  expect_same_state(j, "the call", end, IBV_QPS_RTS);
}

// The field ibv_qp::state follows the calls of the program.
void shown_state(Judge& j) {
  End end(j);
  j.expect("after ibv_create_qp", end.qp->state, {IBV_QPS_RESET});
  for (const auto to :
       {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_INIT}) {
    must(j, "ibv_modify_qp", step(end, to));
  }
  j.expect("after ibv_modify_qp to INIT", end.qp->state, {IBV_QPS_INIT});
}

void iwarp_to_error(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.a.post_recv(1, 0, 8));
  j.expect("ibv_modify_qp to ERR", pair.a.modify(IBV_QPS_ERR));
  expect_state(j, "state", pair.a, IBV_QPS_ERR);
  expect_flushed(j, "the receive", pair.a.recv_cq, 1, 1);
  expect_state(j, "state of the peer", pair.b, IBV_QPS_ERR);
}

void iwarp_access_flags(Judge& j) {
  Pair pair(j);
  pair.b.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  j.expect("ibv_modify_qp", pair.b.modify(IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS));
  expect_same_state(j, "the call", pair.b, IBV_QPS_RTS);
  expect_denied(j, "Write", pair, pair.a.request(1, IBV_WR_RDMA_WRITE, pair.b), 8);
}

// clang-format off
#define JUDGE_FROM(type, lower, needs, state, name, rows) \
  Case{"qp/" lower "/from-" name, rows, "permits exactly the transitions from this state that IBTA permits", transitions<type, state>, needs}
#define JUDGE_OTHERS(type, lower, needs, from, to, name, rows) \
  Case{"qp/" lower "/" name "-others", rows, "permits each optional attribute of the transition, and refuses all others", others<type, from, to>, needs}
#define JUDGE_RC(to, name, bit, rows) \
  Case{"qp/rc/" name, rows, "refuses a transition without an attribute that it requires", without<IBV_QPT_RC, to, bit>, kByHand}
#define JUDGE_UC(to, name, bit, rows) \
  Case{"qp/uc/" name, rows, "refuses a transition without an attribute that it requires", without<IBV_QPT_UC, to, bit>, kByHand | kUc}
#define JUDGE_UD(to, name, bit, rows) \
  Case{"qp/ud/" name, rows, "refuses a transition without an attribute that it requires", without<IBV_QPT_UD, to, bit>, kUd}
#define JUDGE_TYPE(type, lower, needs) \
  JUDGE_FROM(type, lower, needs, IBV_QPS_RESET, "reset", "IBV-443 IBV-445 IBV-446"), \
  JUDGE_FROM(type, lower, needs, IBV_QPS_INIT, "init", "IBV-443 IBV-446"), \
  JUDGE_FROM(type, lower, needs, IBV_QPS_RTR, "rtr", "IBV-444 IBV-446"), \
  JUDGE_FROM(type, lower, needs, IBV_QPS_RTS, "rts", "IBV-444 IBV-446"), \
  JUDGE_FROM(type, lower, needs, IBV_QPS_SQD, "sqd", "IBV-446 IBV-448"), \
  JUDGE_FROM(type, lower, needs, IBV_QPS_ERR, "err", "IBV-444 IBV-446"), \
  JUDGE_OTHERS(type, lower, needs, IBV_QPS_RESET, IBV_QPS_INIT, "reset-to-init", "IBV-436 IBV-437"), \
  JUDGE_OTHERS(type, lower, needs, IBV_QPS_INIT, IBV_QPS_INIT, "init-to-init", "IBV-436 IBV-438"), \
  JUDGE_OTHERS(type, lower, needs, IBV_QPS_INIT, IBV_QPS_RTR, "init-to-rtr", "IBV-432 IBV-436 IBV-439"), \
  JUDGE_OTHERS(type, lower, needs, IBV_QPS_RTR, IBV_QPS_RTS, "rtr-to-rts", "IBV-436 IBV-440"), \
  JUDGE_OTHERS(type, lower, needs, IBV_QPS_RTS, IBV_QPS_RTS, "rts-to-rts", "IBV-436 IBV-441"), \
  JUDGE_OTHERS(type, lower, needs, IBV_QPS_RTS, IBV_QPS_ERR, "rts-to-err", "IBV-436 IBV-442")

constexpr Case kCases[] = {
    JUDGE_TYPE(IBV_QPT_RC, "rc", kByHand),
    JUDGE_TYPE(IBV_QPT_UC, "uc", kByHand | kUc),
    JUDGE_TYPE(IBV_QPT_UD, "ud", kUd),
    JUDGE_FROM(IBV_QPT_UC, "uc", kByHand | kUc, IBV_QPS_SQE, "sqe", "IBV-446 IBV-447"),
    JUDGE_FROM(IBV_QPT_UD, "ud", kUd, IBV_QPS_SQE, "sqe", "IBV-446 IBV-447"),
    JUDGE_OTHERS(IBV_QPT_UC, "uc", kByHand | kUc, IBV_QPS_SQE, IBV_QPS_RTS, "sqe-to-rts", "IBV-447"),
    JUDGE_OTHERS(IBV_QPT_UD, "ud", kUd, IBV_QPS_SQE, IBV_QPS_RTS, "sqe-to-rts", "IBV-447"),
    JUDGE_RC(IBV_QPS_INIT, "init-without-pkey-index", IBV_QP_PKEY_INDEX, "IBV-428"),
    JUDGE_RC(IBV_QPS_INIT, "init-without-port", IBV_QP_PORT, "IBV-428"),
    JUDGE_RC(IBV_QPS_INIT, "init-without-access-flags", IBV_QP_ACCESS_FLAGS, "IBV-428"),
    JUDGE_RC(IBV_QPS_RTR, "rtr-without-av", IBV_QP_AV, "IBV-430"),
    JUDGE_RC(IBV_QPS_RTR, "rtr-without-path-mtu", IBV_QP_PATH_MTU, "IBV-430"),
    JUDGE_RC(IBV_QPS_RTR, "rtr-without-dest-qpn", IBV_QP_DEST_QPN, "IBV-430"),
    JUDGE_RC(IBV_QPS_RTR, "rtr-without-rq-psn", IBV_QP_RQ_PSN, "IBV-430"),
    JUDGE_RC(IBV_QPS_RTR, "rtr-without-max-dest-rd-atomic", IBV_QP_MAX_DEST_RD_ATOMIC, "IBV-430"),
    JUDGE_RC(IBV_QPS_RTR, "rtr-without-min-rnr-timer", IBV_QP_MIN_RNR_TIMER, "IBV-430"),
    JUDGE_RC(IBV_QPS_RTS, "rts-without-sq-psn", IBV_QP_SQ_PSN, "IBV-433"),
    JUDGE_RC(IBV_QPS_RTS, "rts-without-timeout", IBV_QP_TIMEOUT, "IBV-433"),
    JUDGE_RC(IBV_QPS_RTS, "rts-without-retry-cnt", IBV_QP_RETRY_CNT, "IBV-433"),
    JUDGE_RC(IBV_QPS_RTS, "rts-without-rnr-retry", IBV_QP_RNR_RETRY, "IBV-433"),
    JUDGE_RC(IBV_QPS_RTS, "rts-without-max-rd-atomic", IBV_QP_MAX_QP_RD_ATOMIC, "IBV-433"),
    JUDGE_UC(IBV_QPS_INIT, "init-without-pkey-index", IBV_QP_PKEY_INDEX, "IBV-428"),
    JUDGE_UC(IBV_QPS_INIT, "init-without-port", IBV_QP_PORT, "IBV-428"),
    JUDGE_UC(IBV_QPS_INIT, "init-without-access-flags", IBV_QP_ACCESS_FLAGS, "IBV-428"),
    JUDGE_UC(IBV_QPS_RTR, "rtr-without-av", IBV_QP_AV, "IBV-431"),
    JUDGE_UC(IBV_QPS_RTR, "rtr-without-path-mtu", IBV_QP_PATH_MTU, "IBV-431"),
    JUDGE_UC(IBV_QPS_RTR, "rtr-without-dest-qpn", IBV_QP_DEST_QPN, "IBV-431"),
    JUDGE_UC(IBV_QPS_RTR, "rtr-without-rq-psn", IBV_QP_RQ_PSN, "IBV-431"),
    JUDGE_UC(IBV_QPS_RTS, "rts-without-sq-psn", IBV_QP_SQ_PSN, "IBV-434"),
    JUDGE_UD(IBV_QPS_INIT, "init-without-pkey-index", IBV_QP_PKEY_INDEX, "IBV-429"),
    JUDGE_UD(IBV_QPS_INIT, "init-without-port", IBV_QP_PORT, "IBV-429"),
    JUDGE_UD(IBV_QPS_INIT, "init-without-qkey", IBV_QP_QKEY, "IBV-429"),
    JUDGE_UD(IBV_QPS_RTS, "rts-without-sq-psn", IBV_QP_SQ_PSN, "IBV-434"),
    {"qp/state/unknown", "IBV-427", "refuses a qp_state that does not exist", unknown_state},
    {"qp/state/unknown-mask-bit", "IBV-452", "refuses an unknown bit of attr_mask", unknown_bit, kByHand},
    {"qp/state/cur-state-init", "IBV-450", "refuses a cur_qp_state other than the current state", wrong_current_state<IBV_QPS_INIT>, kByHand},
    {"qp/state/cur-state-rts", "IBV-450", "refuses a cur_qp_state other than the current state", wrong_current_state<IBV_QPS_RTS>, kByHand},
    {"qp/state/without-state", "IBV-451", "changes attributes without IBV_QP_STATE", without_state, kByHand},
    {"qp/state/field", "IBV-493", "updates ibv_qp::state in ibv_modify_qp()", shown_state, kByHand},
    {"qp/iwarp/rts-to-err", "IBV-454 IBV-456", "ends the connection and flushes the receives in ERR", iwarp_to_error, kIwarp},
    {"qp/iwarp/access-flags", "IBV-475", "changes the access flags in RTS", iwarp_access_flags, kIwarp},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::qp_steps

iwarp::judge::Table iwarp::judge::qp_steps_cases() { return qp_steps::kCases; }
