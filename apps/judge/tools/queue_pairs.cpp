// SPDX-License-Identifier: Apache-2.0
// The masks and attributes of each state of a queue pair, posts of requests and receives, and the
// comparisons that many cases make.
#include "judge/tools/queue_pairs.hpp"

#include <fmt/format.h>

namespace iwarp::judge {

int full_mask(ibv_qp_type type, ibv_qp_state to) {
  const bool is_rc = type == IBV_QPT_RC;
  switch (to) {
    case IBV_QPS_INIT:
      return type == IBV_QPT_UD ? kUdToInit : kToInit;
    case IBV_QPS_RTR:
      if (type == IBV_QPT_UD) return IBV_QP_STATE;
      return is_rc ? kToRtr : kUcToRtr;
    case IBV_QPS_RTS:
      return is_rc ? kToRts : IBV_QP_STATE | IBV_QP_SQ_PSN;
    default:
      return IBV_QP_STATE;
  }
}

int step(End& end, ibv_qp_state to, int without, int with) {
  if (end.attr.dest_qp_num == 0) end.attr.dest_qp_num = end.qp->qp_num;
  return end.modify(to, (full_mask(end.options.type, to) & ~without) | with);
}

namespace {

// A request with an unknown key stops the send queue of every type but RC (IBTA vol. 1, 10.3.1.6).
void stop_sends(End& end) {
  Judge& j = end.judge;
  const Ah way = end.options.type == IBV_QPT_UD ? way_to_self(j, end) : Ah();
  ibv_sge bad = end.sge(0, 8);
  bad.lkey ^= 0xFF00;
  must(j, "ibv_post_send, unknown lkey", post(end, send_to(0, way.get(), end), {bad}));
  next(end.send_cq);
  if (end.state() != IBV_QPS_SQE) {
    j.require_true("SQE after a request that failed", false, "the state is SQE");
  }
}

}  // namespace

void bring(End& end, ibv_qp_state state) {
  Judge& j = end.judge;
  if (state == IBV_QPS_RESET) return;
  const auto last = std::min(state == IBV_QPS_ERR ? IBV_QPS_INIT : state, IBV_QPS_RTS);
  for (const auto to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (to > last) break;
    must(j, fmt::format("ibv_modify_qp to {}", state_name(to)), step(end, to));
  }
  if (state == IBV_QPS_SQE) return stop_sends(end);
  if (state > IBV_QPS_RTS) {
    must(j, fmt::format("ibv_modify_qp to {}", state_name(state)), end.modify(state));
  }
}

ibv_qp_attr query(End& end, int mask) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  must(end.judge, "ibv_query_qp", errno_of(ibv_query_qp(end.qp.get(), &attr, mask, &init)));
  attr.cap = init.cap;
  return attr;
}

void expect_same_state(Judge& j, std::string_view after, const End& end, ibv_qp_state state) {
  j.expect(fmt::format("state after {}", after), end.state(), {state});
}

int post(End& end, ibv_send_wr wr, std::initializer_list<ibv_sge> buffers) {
  std::vector<ibv_sge> list(buffers);
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(list.size());
  ibv_send_wr* bad = nullptr;
  return errno_of(ibv_post_send(end.qp.get(), &wr, &bad));
}

int receive(End& end, std::uint64_t id, std::initializer_list<ibv_sge> buffers) {
  std::vector<ibv_sge> list(buffers);
  ibv_recv_wr wr{.wr_id = id,
                 .next = nullptr,
                 .sg_list = list.data(),
                 .num_sge = static_cast<int>(list.size())};
  ibv_recv_wr* bad = nullptr;
  return errno_of(ibv_post_recv(end.qp.get(), &wr, &bad));
}

void post_receives(End& end, unsigned count, unsigned first) {
  for (unsigned i = 0; i < count; ++i) {
    must(end.judge, "ibv_post_recv", end.post_recv(first + i, 64UL * i, 64));
  }
}

ibv_send_wr send_of(std::uint64_t id, unsigned flags) {
  return {.wr_id = id, .opcode = IBV_WR_SEND, .send_flags = flags};
}

ibv_send_wr send_to(std::uint64_t id, ibv_ah* way, const End& peer) {
  ibv_send_wr wr = send_of(id);
  if (way != nullptr) {
    wr.wr.ud = {.ah = way, .remote_qpn = peer.qp->qp_num, .remote_qkey = kQKey};
  }
  return wr;
}

void expect_flushed(Judge& j, std::string_view step, const Cq& cq, std::uint64_t first, int count) {
  int seen = 0;
  std::string wrong;
  while (seen < count && wrong.empty()) {
    const auto wc = next(cq);
    if (!wc) {
      wrong = fmt::format("{} of {} completions", seen, count);
    } else if (wc->status != IBV_WC_WR_FLUSH_ERR) {
      wrong = fmt::format("number {}: {}", seen, status_name(wc->status));
    } else if (wc->wr_id != first + static_cast<unsigned>(seen)) {
      wrong = fmt::format("number {}: wr_id {}", seen, wc->wr_id);
    }
    ++seen;
  }
  j.expect_text(step, wrong.empty() ? "all flushed in order" : wrong, {"all flushed in order"});
}

ibv_wc expect_done(Judge& j, std::string_view step, const Cq& cq, std::uint64_t id) {
  const ibv_wc wc = expect_completion(j, step, cq);
  j.expect_equal(fmt::format("wr_id, {}", step), wc.wr_id, id);
  return wc;
}

void expect_bytes(Judge& j, std::string_view step, const char* at, std::size_t count, char octet) {
  j.expect_true(step, std::all_of(at, at + count, [=](char c) { return c == octet; }),
                fmt::format("{} bytes '{}'", count, octet));
}

std::string next_affiliated(Judge& j, ibv_qp** about) {
  const auto event = next_event(j.context());
  if (event && about != nullptr) *about = event->element.qp;
  return event ? ibv_event_type_str(event->event_type) : "no event";
}

void expect_no_event(Judge& j, std::string_view step) {
  End marker(j, {.has_srq = true});
  j.require("ibv_modify_qp of another queue pair to INIT", marker.to_init());
  j.require("ibv_modify_qp of another queue pair to ERR", marker.modify(IBV_QPS_ERR));
  ibv_qp* about = nullptr;
  const std::string name = next_affiliated(j, &about);
  j.expect_text(step, about == marker.qp.get() ? "no event" : name, {"no event"});
}

void exchange_elsewhere(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv elsewhere", pair.b.post_recv(1, 0, 8));
  j.require("ibv_post_send elsewhere", pair.a.post_send(send_of(2), 0, 8));
  expect_completion(j, "completion of the Send elsewhere", pair.a.send_cq);
  expect_completion(j, "completion of the receive elsewhere", pair.b.recv_cq);
}

}  // namespace iwarp::judge
