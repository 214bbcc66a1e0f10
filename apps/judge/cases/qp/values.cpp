// SPDX-License-Identifier: Apache-2.0
// Cases about the values of the attributes of a queue pair: which ibv_modify_qp() refuses, and what
// ibv_query_qp() returns.

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::qp_values {
namespace {

constexpr unsigned kMost24Bits = 0xFFFFFF;

// Wrong values ------------------------------------------------------------------------------------

using Spoil = void (*)(Judge&, ibv_qp_attr&);

template <ibv_qp_state to, Spoil spoil, ibv_qp_type type = IBV_QPT_RC>
void refused(Judge& j) {
  End end(j, {.type = type});
  const auto from = static_cast<ibv_qp_state>(to - 1);
  bring(end, from);
  const ibv_qp_attr valid = end.attr;
  spoil(j, end.attr);
  j.expect("ibv_modify_qp with the wrong value", step(end, to), {EINVAL});
  expect_same_state(j, "the refused call", end, from);
  end.attr = valid;
  j.expect("ibv_modify_qp with a valid value", step(end, to));
}

void port_0(Judge&, ibv_qp_attr& attr) { attr.port_num = 0; }
void port_above(Judge& j, ibv_qp_attr& attr) {
  attr.port_num = static_cast<std::uint8_t>(j.attributes().phys_port_cnt + 1);
}
void pkey_above(Judge& j, ibv_qp_attr& attr) { attr.pkey_index = j.port_attributes().pkey_tbl_len; }
void mtu_0(Judge&, ibv_qp_attr& attr) { attr.path_mtu = static_cast<ibv_mtu>(0); }
void mtu_above(Judge& j, ibv_qp_attr& attr) {
  attr.path_mtu = static_cast<ibv_mtu>(j.port_attributes().max_mtu + 1);
}
void qpn_25_bits(Judge&, ibv_qp_attr& attr) { attr.dest_qp_num = kMost24Bits + 1; }
void responses_above(Judge& j, ibv_qp_attr& attr) {
  if (j.attributes().max_qp_rd_atom >= UINT8_MAX) j.not_applicable("max_qp_rd_atom is 255");
  attr.max_dest_rd_atomic = static_cast<std::uint8_t>(j.attributes().max_qp_rd_atom + 1);
}
void reads_above(Judge& j, ibv_qp_attr& attr) {
  if (j.attributes().max_qp_init_rd_atom >= UINT8_MAX) {
    j.not_applicable("max_qp_init_rd_atom is 255");
  }
  attr.max_rd_atomic = static_cast<std::uint8_t>(j.attributes().max_qp_init_rd_atom + 1);
}
void rnr_timer_32(Judge&, ibv_qp_attr& attr) { attr.min_rnr_timer = 32; }
void timeout_32(Judge&, ibv_qp_attr& attr) { attr.timeout = 32; }
void retry_8(Judge&, ibv_qp_attr& attr) { attr.retry_cnt = 8; }
void rnr_retry_8(Judge&, ibv_qp_attr& attr) { attr.rnr_retry = 8; }
void gid_index_above(Judge& j, ibv_qp_attr& attr) {
  const int length = j.port_attributes().gid_tbl_len;
  if (length > UINT8_MAX) j.not_applicable("the GID table has more than 255 entries");
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(length);
}
void path_port_0(Judge&, ibv_qp_attr& attr) { attr.ah_attr.port_num = 0; }
void path_port_above(Judge& j, ibv_qp_attr& attr) {
  attr.ah_attr.port_num = static_cast<std::uint8_t>(j.attributes().phys_port_cnt + 1);
}
// RoCE has no LIDs, so each path has a GRH.
void no_grh(Judge& j, ibv_qp_attr& attr) {
  if (j.port_attributes().link_layer != IBV_LINK_LAYER_ETHERNET) {
    j.not_applicable("a path on InfiniBand needs no GRH");
  }
  attr.ah_attr.is_global = 0;
}

// The kernel masks a PSN of more than 24 bits, and hardware cannot send one.
template <ibv_qp_state to, std::uint32_t ibv_qp_attr::* psn>
void psn_25_bits(Judge& j) {
  End end(j);
  bring(end, static_cast<ibv_qp_state>(to - 1));
  end.attr.*psn = (1U << 24) + 5;
  const int code = step(end, to);
  j.expect("ibv_modify_qp", code, {0, EINVAL});
  const auto attr = query(end, IBV_QP_RQ_PSN | IBV_QP_SQ_PSN);
  if (code == 0) j.expect_equal("the queried PSN", attr.*psn, 5);
}

// A refused call changes none of its attributes, also not the valid ones (ibv_modify_qp(3)).
void nothing_changes(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTS);
  const auto before = end.attr;
  end.attr.min_rnr_timer = 40;
  end.attr.qp_access_flags = 0;
  j.expect("ibv_modify_qp",
           end.modify(IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER),
           {EINVAL});
  const auto attr = query(end, IBV_QP_ACCESS_FLAGS);
  j.expect_equal("qp_access_flags", attr.qp_access_flags, before.qp_access_flags);
  j.expect_equal("min_rnr_timer", attr.min_rnr_timer, before.min_rnr_timer);
}

// Reading back ------------------------------------------------------------------------------------

/// Gives each attribute a value that no device has by default.
void choose_values(End& end) {
  end.attr.path_mtu = IBV_MTU_512;
  end.attr.rq_psn = 0x123456;
  end.attr.sq_psn = 0x654321;
  end.attr.min_rnr_timer = 13;
  end.attr.max_dest_rd_atomic = 2;
  end.attr.max_rd_atomic = 3;
  end.attr.timeout = 17;
  end.attr.retry_cnt = 5;
  end.attr.rnr_retry = 6;
  end.attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
}

template <int bit, auto field>
void read_back(Judge& j) {
  End end(j);
  choose_values(end);
  bring(end, IBV_QPS_RTS);
  const auto attr = query(end, bit);
  j.expect_equal("the queried value", static_cast<std::uint64_t>(attr.*field),
                 static_cast<std::uint64_t>(end.attr.*field));
}

// The same once data has moved: what the peer offers does not change the attributes.
void read_back_connected(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(1, IBV_WR_RDMA_READ, pair.b), 0, 8));
  expect_done(j, "the Read", pair.a.send_cq, 1);
  for (End* const end : {&pair.a, &pair.b}) {
    const std::string whose = end == &pair.a ? "requester" : "responder";
    const auto attr = query(*end, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MAX_QP_RD_ATOMIC);
    j.expect_equal("max_dest_rd_atomic, " + whose, attr.max_dest_rd_atomic,
                   end->attr.max_dest_rd_atomic);
    j.expect_equal("max_rd_atomic, " + whose, attr.max_rd_atomic, end->attr.max_rd_atomic);
  }
}

void read_back_path(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTR);
  const auto path = query(end, IBV_QP_AV).ah_attr;
  const auto& set = end.attr.ah_attr;
  j.expect_equal("is_global", path.is_global, 1);
  j.expect_equal("port_num", path.port_num, set.port_num);
  j.expect_equal("sgid_index", path.grh.sgid_index, set.grh.sgid_index);
  j.expect_true("dgid", std::memcmp(&path.grh.dgid, &set.grh.dgid, sizeof(ibv_gid)) == 0,
                "as passed");
}

void read_back_qkey(Judge& j) {
  End end(j, {.type = IBV_QPT_UD});
  bring(end, IBV_QPS_RTS);
  j.expect_equal("qkey", query(end, IBV_QP_QKEY).qkey, kQKey);
  end.attr.qkey = kQKey + 1;
  j.expect("ibv_modify_qp, another Q_Key", end.modify(IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_QKEY));
  j.expect_equal("qkey after the change", query(end, IBV_QP_QKEY).qkey, kQKey + 1);
}

template <ibv_qp_state state, ibv_qp_type type = IBV_QPT_RC>
void read_back_state(Judge& j) {
  End end(j, {.type = type});
  bring(end, state);
  const auto attr = query(end, IBV_QP_STATE | IBV_QP_CUR_STATE);
  j.expect("qp_state", attr.qp_state, {state});
  j.expect("cur_qp_state", attr.cur_qp_state, {state});
}

// The state that a program reads agrees with the completion that it has polled.
void state_after_error(Judge& j) {
  Pair pair(j);
  auto wr = pair.a.request(1, IBV_WR_RDMA_READ, pair.b);
  wr.wr.rdma.rkey ^= 0x5500;
  j.require("ibv_post_send", pair.a.post_send(wr, 0, 8));
  expect_completion(j, "the Read", pair.a.send_cq,
                    {IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR});
  expect_same_state(j, "the error completion", pair.a, IBV_QPS_ERR);
}

template <ibv_wr_opcode opcode>
void data_in_order(Judge& j) {
  End end(j);
  const int is_in_order = ibv_query_qp_data_in_order(end.qp.get(), opcode, 0);
  j.expect_true("ibv_query_qp_data_in_order", is_in_order == 0 || is_in_order == 1, "0 or 1");
}

// The vendor's options for a queue pair, which both ends exchange.
void ece(Judge& j) {
  End end(j);
  ibv_ece ece{};
  const int code = errno_of(ibv_query_ece(end.qp.get(), &ece));
  if (code == EOPNOTSUPP) j.refuse("ibv_query_ece", code);
  j.expect("ibv_query_ece", code);
  j.expect("ibv_set_ece with the queried options", errno_of(ibv_set_ece(end.qp.get(), &ece)));
}

// What a device announces agrees with what it does.
template <int bit, unsigned capability>
void optional_attribute(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTS);
  end.attr.cap = query(end).cap;
  end.attr.alt_ah_attr = end.attr.ah_attr;
  end.attr.alt_port_num = j.port();
  const int code = end.modify(IBV_QPS_RTS, bit);
  if ((j.attributes().device_cap_flags & capability) != 0) {
    j.expect("ibv_modify_qp with the capability", code);
  } else {
    j.expect("ibv_modify_qp without the capability", code, {EINVAL, EOPNOTSUPP});
  }
  expect_same_state(j, "the call", end, IBV_QPS_RTS);
}

void rate_limit(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTS);
  ibv_qp_rate_limit_attr limit{.rate_limit = 1000};
  j.expect("ibv_modify_qp_rate_limit", errno_of(ibv_modify_qp_rate_limit(end.qp.get(), &limit)),
           {0, EINVAL, EOPNOTSUPP});
  expect_same_state(j, "the call", end, IBV_QPS_RTS);
}

// ibv_query_qp() updates ibv_qp::state, which otherwise follows the calls of the program.
void query_updates_field(Judge& j) {
  Pair pair(j);
  auto wr = pair.a.request(1, IBV_WR_RDMA_READ, pair.b);
  wr.wr.rdma.rkey ^= 0x5500;
  must(j, "ibv_post_send", pair.a.post_send(wr, 0, 8));
  expect_state(j, "state", pair.a, IBV_QPS_ERR);
  j.expect("ibv_qp::state", pair.a.qp->state, {IBV_QPS_ERR});
}

void query_twice(Judge& j) {
  End end(j);
  choose_values(end);
  bring(end, IBV_QPS_RTS);
  constexpr int kAll = kToRtr | kToRts | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT | IBV_QP_PKEY_INDEX;
  const ibv_qp_attr first = query(end, kAll);
  const ibv_qp_attr again = query(end, kAll);
  // query() sets all bytes to 0 first. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  const bool are_same = std::memcmp(&first, &again, sizeof first) == 0;
  j.expect_true("two queries", are_same, "the same values");
}

constexpr auto kInit = IBV_QPS_INIT;
constexpr auto kRtr = IBV_QPS_RTR;
constexpr auto kRts = IBV_QPS_RTS;

// clang-format off
constexpr Case kCases[] = {
    {"qp/value/port-0", "IBV-427 IBV-465", "refuses port_num 0", refused<kInit, port_0>, kByHand},
    {"qp/value/port-above", "IBV-427 IBV-465", "refuses a port_num above the last port", refused<kInit, port_above>, kByHand},
    {"qp/value/pkey-index-above", "IBV-427 IBV-466", "refuses a pkey_index outside the P_Key table", refused<kInit, pkey_above>, kByHand},
    {"qp/value/ud-port-0", "IBV-427 IBV-465", "refuses port_num 0", refused<kInit, port_0, IBV_QPT_UD>, kUd},
    {"qp/value/ud-pkey-index-above", "IBV-427 IBV-466", "refuses a pkey_index outside the P_Key table", refused<kInit, pkey_above, IBV_QPT_UD>, kUd},
    {"qp/value/path-mtu-0", "IBV-427 IBV-463", "refuses path_mtu 0", refused<kRtr, mtu_0>, kByHand},
    {"qp/value/path-mtu-above", "IBV-427 IBV-464", "refuses a path_mtu above max_mtu of the port", refused<kRtr, mtu_above>, kByHand},
    {"qp/value/uc-path-mtu-0", "IBV-427 IBV-463", "refuses path_mtu 0", refused<kRtr, mtu_0, IBV_QPT_UC>, kByHand | kUc},
    {"qp/value/dest-qpn-25-bits", "IBV-471", "refuses a dest_qp_num of 25 bits", refused<kRtr, qpn_25_bits>, kByHand},
    {"qp/value/max-dest-rd-atomic-above", "IBV-33 IBV-478", "refuses a max_dest_rd_atomic above max_qp_rd_atom", refused<kRtr, responses_above>, kByHand},
    {"qp/value/min-rnr-timer-32", "IBV-479", "refuses min_rnr_timer 32", refused<kRtr, rnr_timer_32>, kByHand},
    {"qp/value/sgid-index-above", "IBV-469", "refuses an sgid_index outside the GID table", refused<kRtr, gid_index_above>, kByHand},
    {"qp/value/path-port-0", "IBV-427 IBV-465", "refuses port_num 0 in ah_attr", refused<kRtr, path_port_0>, kByHand},
    {"qp/value/path-port-above", "IBV-427 IBV-465", "refuses a port_num above the last port in ah_attr", refused<kRtr, path_port_above>, kByHand},
    {"qp/value/no-grh", "IBV-469", "refuses a path without a GRH on Ethernet", refused<kRtr, no_grh>, kByHand},
    {"qp/value/rq-psn-25-bits", "IBV-472", "refuses an rq_psn of 25 bits, or masks it to 24 bits", psn_25_bits<kRtr, &ibv_qp_attr::rq_psn>, kByHand},
    {"qp/value/sq-psn-25-bits", "IBV-472", "refuses an sq_psn of 25 bits, or masks it to 24 bits", psn_25_bits<kRts, &ibv_qp_attr::sq_psn>, kByHand},
    {"qp/value/timeout-32", "IBV-479", "refuses timeout 32", refused<kRts, timeout_32>, kByHand},
    {"qp/value/retry-cnt-8", "IBV-479", "refuses retry_cnt 8", refused<kRts, retry_8>, kByHand},
    {"qp/value/rnr-retry-8", "IBV-479", "refuses rnr_retry 8", refused<kRts, rnr_retry_8>, kByHand},
    {"qp/value/max-rd-atomic-above", "IBV-34 IBV-478", "refuses a max_rd_atomic above max_qp_init_rd_atom", refused<kRts, reads_above>, kByHand},
    {"qp/value/nothing-changes", "IBV-427", "changes no attribute if ibv_modify_qp() names an invalid one", nothing_changes, kByHand},
    {"qp/query/path-mtu", "IBV-485 IBV-487", "returns the path_mtu that was set", read_back<IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu>, kByHand},
    {"qp/query/rq-psn", "IBV-485 IBV-487", "returns the rq_psn that was set", read_back<IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn>, kByHand},
    {"qp/query/sq-psn", "IBV-485 IBV-487", "returns the sq_psn that was set", read_back<IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn>, kByHand},
    {"qp/query/dest-qp-num", "IBV-485 IBV-487", "returns the dest_qp_num that was set", read_back<IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num>, kByHand},
    {"qp/query/access-flags", "IBV-485 IBV-487", "returns the qp_access_flags that was set", read_back<IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags>, kByHand},
    {"qp/query/port-num", "IBV-485 IBV-487", "returns the port_num that was set", read_back<IBV_QP_PORT, &ibv_qp_attr::port_num>, kByHand},
    {"qp/query/pkey-index", "IBV-485 IBV-487", "returns the pkey_index that was set", read_back<IBV_QP_PKEY_INDEX, &ibv_qp_attr::pkey_index>, kByHand},
    {"qp/query/max-rd-atomic", "IBV-485 IBV-487", "returns the max_rd_atomic that was set", read_back<IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic>, kByHand},
    {"qp/query/max-dest-rd-atomic", "IBV-485 IBV-487", "returns the max_dest_rd_atomic that was set", read_back<IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic>, kByHand},
    {"qp/query/min-rnr-timer", "IBV-485 IBV-487", "returns the min_rnr_timer that was set", read_back<IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer>, kByHand},
    {"qp/query/timeout", "IBV-485 IBV-487", "returns the timeout that was set", read_back<IBV_QP_TIMEOUT, &ibv_qp_attr::timeout>, kByHand},
    {"qp/query/retry-cnt", "IBV-485 IBV-487", "returns the retry_cnt that was set", read_back<IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt>, kByHand},
    {"qp/query/rnr-retry", "IBV-485 IBV-487", "returns the rnr_retry that was set", read_back<IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry>, kByHand},
    {"qp/query/connected", "IBV-487", "returns max_rd_atomic and max_dest_rd_atomic unchanged after a Read", read_back_connected, kByHand},
    {"qp/query/path", "IBV-485 IBV-487", "returns the ah_attr that was set", read_back_path, kByHand},
    {"qp/query/qkey", "IBV-481 IBV-487", "returns the qkey that was set, also after a change", read_back_qkey, kUd},
    {"qp/query/state-reset", "IBV-486", "returns the state RESET", read_back_state<IBV_QPS_RESET>, kByHand},
    {"qp/query/state-init", "IBV-486", "returns the state INIT", read_back_state<kInit>, kByHand},
    {"qp/query/state-rtr", "IBV-486", "returns the state RTR", read_back_state<kRtr>, kByHand},
    {"qp/query/state-rts", "IBV-486", "returns the state RTS", read_back_state<kRts>, kByHand},
    {"qp/query/state-err", "IBV-486", "returns the state ERR", read_back_state<IBV_QPS_ERR>, kByHand},
    {"qp/query/state-ud-sqe", "IBV-486", "returns the state SQE", read_back_state<IBV_QPS_SQE, IBV_QPT_UD>, kUd},
    {"qp/query/state-after-error", "IBV-308 IBV-492", "returns the state ERR after a completion with an error was polled", state_after_error},
    {"qp/value/resize", "IBV-49 IBV-482", "resizes a queue pair exactly if it reports IBV_DEVICE_RESIZE_MAX_WR", optional_attribute<IBV_QP_CAP, IBV_DEVICE_RESIZE_MAX_WR>, kByHand},
    {"qp/value/alternate-path", "IBV-50 IBV-467", "sets an alternate path exactly if it reports IBV_DEVICE_AUTO_PATH_MIG", optional_attribute<IBV_QP_ALT_PATH, IBV_DEVICE_AUTO_PATH_MIG>, kByHand},
    {"qp/value/rate-limit", "IBV-426", "limits the rate of a queue pair, or reports that it cannot", rate_limit, kByHand},
    {"qp/query/updates-field", "IBV-493", "updates ibv_qp::state in ibv_query_qp()", query_updates_field},
    {"qp/query/twice", "IBV-490", "returns the same values from a second ibv_query_qp()", query_twice, kByHand},
    {"qp/query/data-in-order-send", "IBV-424 IBV-425", "reports whether the data of a Send arrives in order", data_in_order<IBV_WR_SEND>},
    {"qp/query/data-in-order-write", "IBV-424 IBV-425", "reports whether the data of a Write arrives in order", data_in_order<IBV_WR_RDMA_WRITE>},
    {"qp/query/ece", "IBV-422 IBV-423", "accepts in ibv_set_ece() the options that ibv_query_ece() returned", ece},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::qp_values

iwarp::judge::Table iwarp::judge::qp_values_cases() { return qp_values::kCases; }
