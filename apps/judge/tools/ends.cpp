// SPDX-License-Identifier: Apache-2.0
// End and Pair: create the queue pairs, bring them to RTS, by ibv_modify_qp() or by rdma_cm, and
// wait for their completions and events.
#include "judge/tools/ends.hpp"

#include "judge/tools/ids.hpp"

namespace iwarp::judge {
namespace {

constexpr std::uint32_t kFirstPsn = 1;
constexpr std::uint8_t kMinRnrTimer = 1;  // 0.01 ms

ibv_qp_init_attr init_of(End& end) {
  return {.qp_context = &end,
          .send_cq = end.send_cq.get(),
          .recv_cq = end.options.shares_cq ? end.send_cq.get() : end.recv_cq.get(),
          .srq = end.srq.get(),
          .cap = end.options.cap,
          .qp_type = end.options.type,
          .sq_sig_all = end.options.signal_all ? 1 : 0};
}

ibv_qp* create(End& end) {
  ibv_qp_init_attr init = init_of(end);
  if (end.options.send_ops == 0) return ibv_create_qp(end.pd.get(), &init);
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = init.send_cq;
  attr.recv_cq = init.recv_cq;
  attr.srq = init.srq;
  attr.cap = init.cap;
  attr.qp_type = init.qp_type;
  attr.sq_sig_all = init.sq_sig_all;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = end.pd.get();
  attr.send_ops_flags = end.options.send_ops;
  return ibv_create_qp_ex(end.judge.context(), &attr);
}

ibv_cq* create_cq(End& end) {
  const int cqe = end.options.cqe;
  ibv_context* const context = end.judge.context();
  if (end.options.wc_flags == 0) {
    return ibv_create_cq(context, cqe, &end, end.channel.get(), 0);
  }
  ibv_cq_init_attr_ex attr{};
  attr.cqe = static_cast<std::uint32_t>(cqe);
  attr.cq_context = &end;
  attr.channel = end.channel.get();
  attr.wc_flags = end.options.wc_flags;
  ibv_cq_ex* const made = ibv_create_cq_ex(context, &attr);
  return made != nullptr ? ibv_cq_ex_to_cq(made) : nullptr;
}

}  // namespace

End::End(Judge& of, const EndOptions& chosen) : memory_(chosen.memory), judge(of), options(chosen) {
  pd = Pd(options.pd != nullptr ? options.pd : ibv_alloc_pd(judge.context()));
  must(judge, "ibv_alloc_pd", errno_of(pd.get()));
  if (options.has_channel) {
    channel = Channel(ibv_create_comp_channel(judge.context()));
    must(judge, "ibv_create_comp_channel", errno_of(channel.get()));
  }
  for (Cq* const cq : {&send_cq, &recv_cq}) {
    if (cq == &recv_cq && options.shares_cq) continue;
    *cq = Cq(create_cq(*this));
    must(judge, "ibv_create_cq", errno_of(cq->get()));
  }
  const int rights = options.type == IBV_QPT_UD ? IBV_ACCESS_LOCAL_WRITE : options.rights;
  mr = Mr(ibv_reg_mr(pd.get(), memory_.data(), memory_.size(), rights));
  must(judge, "ibv_reg_mr", errno_of(mr.get()));
  if (options.has_srq) {
    ibv_srq_init_attr init{.srq_context = this,
                           .attr = {.max_wr = options.cap.max_recv_wr,
                                    .max_sge = options.cap.max_recv_sge,
                                    .srq_limit = 0}};
    srq = Srq(options.shared_srq != nullptr ? options.shared_srq : ibv_create_srq(pd.get(), &init));
    must(judge, "ibv_create_srq", errno_of(srq.get()));
  }
  qp = Qp(create(*this));
  must(judge, "ibv_create_qp", errno_of(qp.get()));

  attr.port_num = judge.port();
  attr.qp_access_flags = static_cast<unsigned>(options.qp_rights.value_or(options.rights));
  attr.qkey = kQKey;
  attr.path_mtu = judge.port_attributes().active_mtu;
  attr.rq_psn = attr.sq_psn = kFirstPsn;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = options.reads;
  attr.min_rnr_timer = kMinRnrTimer;
  attr.timeout = options.timeout;
  attr.retry_cnt = options.retry_cnt;
  attr.rnr_retry = options.rnr_retry;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = judge.port();
  attr.ah_attr.grh.dgid = judge.gid();
  attr.ah_attr.grh.sgid_index = judge.gid_index();
  attr.ah_attr.grh.hop_limit = 64;
}

End::~End() {
  if (options.pd != nullptr) pd.release();
  if (options.shared_srq != nullptr) srq.release();
  if (id == nullptr) return;
  rdma_disconnect(id);
  if (id->qp != nullptr) rdma_destroy_qp(id);
  qp.release();
  rdma_destroy_id(id);
}

std::uint64_t End::address(std::size_t at) const {
  return reinterpret_cast<std::uint64_t>(memory_.data()) + at;
}

ibv_sge End::sge(std::size_t at, std::uint32_t length) const {
  return {.addr = address(at), .length = length, .lkey = mr->lkey};
}

ibv_qp_state End::state() const {
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  must(judge, "ibv_query_qp", errno_of(ibv_query_qp(qp.get(), &now, IBV_QP_STATE, &init)));
  return now.qp_state;
}

int End::post_recv(std::uint64_t wr_id, std::size_t at, std::uint32_t length) {
  ibv_sge one = sge(at, length);
  ibv_recv_wr wr{.wr_id = wr_id, .next = nullptr, .sg_list = &one, .num_sge = length != 0 ? 1 : 0};
  ibv_recv_wr* bad = nullptr;
  if (srq) return errno_of(ibv_post_srq_recv(srq.get(), &wr, &bad));
  return errno_of(ibv_post_recv(qp.get(), &wr, &bad));
}

int End::post_send(ibv_send_wr wr, std::size_t at, std::uint32_t length) {
  ibv_sge one = sge(at, length);
  wr.sg_list = &one;
  wr.num_sge = length != 0 ? 1 : 0;
  ibv_send_wr* bad = nullptr;
  return errno_of(ibv_post_send(qp.get(), &wr, &bad));
}

ibv_send_wr End::request(std::uint64_t wr_id, ibv_wr_opcode opcode, const End& peer,
                         std::size_t remote_at) const {
  return remote(wr_id, opcode, peer.address(remote_at), peer.mr->rkey);
}

void End::replace() {
  must(judge, "ibv_destroy_qp", qp.destroy());
  qp = Qp(create(*this));
  must(judge, "ibv_create_qp", errno_of(qp.get()));
}

int End::modify(ibv_qp_state state, int mask) {
  attr.qp_state = state;
  return errno_of(ibv_modify_qp(qp.get(), &attr, mask));
}

int End::to_init(int without, int with) {
  const int mask = options.type == IBV_QPT_UD ? kUdToInit : kToInit;
  return modify(IBV_QPS_INIT, (mask & ~without) | with);
}

int End::to_rtr(std::uint32_t dest_qpn, int without, int with) {
  attr.dest_qp_num = dest_qpn;
  int mask = kToRtr;
  if (options.type == IBV_QPT_UC) mask = kUcToRtr;
  if (options.type == IBV_QPT_UD) mask = IBV_QP_STATE;
  return modify(IBV_QPS_RTR, (mask & ~without) | with);
}

int End::to_rts(int without, int with) {
  const int mask = options.type == IBV_QPT_RC ? kToRts : IBV_QP_STATE | IBV_QP_SQ_PSN;
  return modify(IBV_QPS_RTS, (mask & ~without) | with);
}

std::optional<ibv_wc> next(ibv_cq* cq, std::chrono::milliseconds limit) {
  ibv_wc wc{};
  int got = 0;
  wait_for([&] { return (got = ibv_poll_cq(cq, 1, &wc)) != 0; }, limit);
  if (got != 1) return std::nullopt;
  return wc;
}

ibv_wc expect_completion(Judge& judge, std::string_view step, ibv_cq* cq,
                         std::initializer_list<ibv_wc_status> allowed) {
  const auto wc = next(cq);
  if (!wc) {
    judge.expect_text(step, "no completion", {status_name(*allowed.begin())});
    return {};
  }
  judge.expect(step, wc->status, allowed);
  return *wc;
}

bool expect_empty(Judge& judge, std::string_view step, const Cq& cq) {
  ibv_wc wc{};
  const int got = ibv_poll_cq(cq.get(), 1, &wc);
  return judge.expect_text(step, got == 1 ? status_name(wc.status) : "no completion",
                           {"no completion"});
}

bool expect_state(Judge& judge, std::string_view step, const End& end, ibv_qp_state state) {
  ibv_qp_state now{};
  wait_for([&] {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    ibv_query_qp(end.qp.get(), &attr, IBV_QP_STATE, &init);
    return (now = attr.qp_state) == state;
  });
  return judge.expect(step, now, {state});
}

Pair::~Pair() {
  // An id can be destroyed only before its channel, and acknowledges no event of its own.
  for (End* const end : {&a, &b}) {
    if (end->id != nullptr) rdma_disconnect(end->id);
  }
}

Pair::Pair(Judge& judge, const EndOptions& of_a, const EndOptions& of_b)
    : a(judge, of_a), b(judge, of_b) {
  if (judge.is_iwarp()) {
    connect_by_cm();
  } else {
    connect_by_hand();
  }
}

void Pair::connect_by_hand() {
  Judge& judge = a.judge;
  for (End* const end : {&a, &b}) {
    const End& peer = end == &a ? b : a;
    must(judge, "ibv_modify_qp to INIT", end->to_init());
    must(judge, "ibv_modify_qp to RTR", end->to_rtr(peer.qp->qp_num));
  }
  for (End* const end : {&a, &b}) must(judge, "ibv_modify_qp to RTS", end->to_rts());
}

void Pair::connect_by_cm() {
  Judge& judge = a.judge;
  if (judge.address().empty()) judge.not_applicable("the device has no IPv4 address");
  events = rdma_create_event_channel();
  if (events == nullptr)
    judge.not_applicable("an iWARP device connects only by rdma_cm, which is unavailable");
  rdma_cm_id* const listener = new_listener(judge, events, Address(judge.address()), 1);
  a.id = new_client(judge, events, Address(judge.address(), rdma_get_src_port(listener)));
  const auto give_qp = [&](End& end) {
    must(judge, "ibv_destroy_qp", end.qp.destroy());
    ibv_qp_init_attr init = init_of(end);
    must(judge, "rdma_create_qp", errno_of(rdma_create_qp(end.id, end.pd.get(), &init)));
    end.qp = Qp(end.id->qp);
  };
  give_qp(a);
  rdma_conn_param parameters{};
  parameters.responder_resources = a.options.reads;
  parameters.initiator_depth = b.options.reads;
  parameters.retry_count = a.options.retry_cnt;
  parameters.rnr_retry_count = a.options.rnr_retry;
  must(judge, "rdma_connect", errno_of(rdma_connect(a.id, &parameters)));
  b.id = await(judge, events, RDMA_CM_EVENT_CONNECT_REQUEST).id;
  give_qp(b);
  parameters.responder_resources = b.options.reads;
  parameters.initiator_depth = a.options.reads;
  must(judge, "rdma_accept", errno_of(rdma_accept(b.id, &parameters)));
  for (int i = 0; i < 2; ++i) await(judge, events, RDMA_CM_EVENT_ESTABLISHED);
  rdma_destroy_id(listener);
}

void close(Pair& pair) {
  for (End* const end : {&pair.a, &pair.b}) {
    if (end->id != nullptr) rdma_disconnect(end->id);
  }
  for (End* const end : {&pair.a, &pair.b}) {
    if (end->id != nullptr) {
      rdma_destroy_qp(end->id);
      end->qp.release();
    } else {
      end->judge.require("ibv_destroy_qp", end->qp.destroy());
    }
  }
}

Ah way_to_self(Judge& judge, const End& from) {
  ibv_ah_attr attr = from.attr.ah_attr;
  Ah out(ibv_create_ah(from.pd.get(), &attr));
  must(judge, "ibv_create_ah", errno_of(out.get()));
  return out;
}

}  // namespace iwarp::judge
