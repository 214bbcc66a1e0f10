// SPDX-License-Identifier: Apache-2.0
// Cases about creating and destroying queue pairs: types, capacities, the objects that a queue pair
// uses, and what is destroyed in which state.
#include <fmt/format.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::qp_create {
namespace {

constexpr ibv_qp_cap kSmall{
    .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};

/// What a queue pair needs; the cases create the queue pair.
struct Parts {
  explicit Parts(Judge& of) : j(of), pd(ibv_alloc_pd(j.context())) {
    cq = Cq(ibv_create_cq(j.context(), 16, nullptr, nullptr, 0));
    j.require("ibv_alloc_pd", errno_of(pd.get()));
    j.require("ibv_create_cq", errno_of(cq.get()));
    init = {.qp_context = this,
            .send_cq = cq.get(),
            .recv_cq = cq.get(),
            .srq = nullptr,
            .cap = kSmall,
            .qp_type = IBV_QPT_RC,
            .sq_sig_all = 0};
  }
  Qp create() { return Qp(ibv_create_qp(pd.get(), &init)); }
  /// ibv_create_qp_ex() with these bits. The fields that both structures have are the same.
  Qp create_ex(std::uint32_t comp_mask, std::uint64_t send_ops = 0, std::uint32_t flags = 0) {
    ibv_qp_init_attr_ex ex{};
    ex.send_cq = init.send_cq;
    ex.recv_cq = init.recv_cq;
    ex.cap = init.cap;
    ex.qp_type = init.qp_type;
    ex.comp_mask = comp_mask;
    ex.pd = pd.get();
    ex.send_ops_flags = send_ops;
    ex.create_flags = flags;
    return Qp(ibv_create_qp_ex(j.context(), &ex));
  }
  void expect_refused(std::string_view call, const Qp& qp, std::initializer_list<int> allowed) {
    j.expect(call, errno_of(qp.get()), allowed);
  }

  Judge& j;
  Pd pd;
  Cq cq;
  Srq srq;
  ibv_qp_init_attr init{};
};

template <int type>
void unknown_type(Judge& j) {
  Parts parts(j);
  parts.init.qp_type = static_cast<ibv_qp_type>(type);
  parts.expect_refused("ibv_create_qp", parts.create(), {EINVAL, EOPNOTSUPP});
}

/// `others`: what is right, too, for a type that few devices have.
template <ibv_qp_type type, int... others>
void type_refused(Judge& j) {
  Parts parts(j);
  parts.init.qp_type = type;
  parts.expect_refused("ibv_create_qp", parts.create(), {EINVAL, EOPNOTSUPP, others...});
}

template <ibv_cq* ibv_qp_init_attr::* field>
void without_cq(Judge& j) {
  Parts parts(j);
  parts.init.*field = nullptr;
  parts.expect_refused("ibv_create_qp", parts.create(), {EINVAL});
}

// Capacities --------------------------------------------------------------------------------------

template <std::uint32_t ibv_qp_cap::* field>
std::uint32_t limit_of(Judge& j) {
  const bool is_wr = field == &ibv_qp_cap::max_send_wr || field == &ibv_qp_cap::max_recv_wr;
  return static_cast<std::uint32_t>(is_wr ? j.attributes().max_qp_wr : j.attributes().max_sge);
}

template <std::uint32_t ibv_qp_cap::* field>
void at_limit(Judge& j) {
  Parts parts(j);
  const auto most = limit_of<field>(j);
  parts.init.cap.*field = most;
  const Qp qp = parts.create();
  j.require("ibv_create_qp", errno_of(qp.get()));
  j.expect_true("capacity in init_attr", parts.init.cap.*field >= most, "at least the requested");
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  j.require("ibv_query_qp", errno_of(ibv_query_qp(qp.get(), &attr, IBV_QP_CAP, &init)));
  j.expect_equal("ibv_query_qp, attr.cap", attr.cap.*field, parts.init.cap.*field);
  j.expect_equal("ibv_query_qp, init_attr.cap", init.cap.*field, parts.init.cap.*field);
}

template <std::uint32_t ibv_qp_cap::* field>
void above_limit(Judge& j) {
  Parts parts(j);
  parts.init.cap.*field = limit_of<field>(j) + 1;
  parts.expect_refused("ibv_create_qp", parts.create(), {EINVAL, ENOMEM});
}

template <std::uint32_t ibv_qp_cap::* field>
void far_above_limit(Judge& j) {
  Parts parts(j);
  parts.init.cap.*field = UINT32_MAX;
  parts.expect_refused("ibv_create_qp", parts.create(), {EINVAL, ENOMEM});
}

template <std::uint32_t ibv_qp_cap::* wr, std::uint32_t ibv_qp_cap::* sge>
void one_queue(Judge& j) {
  Parts parts(j);
  parts.init.cap.*wr = 0;
  parts.init.cap.*sge = 0;
  j.expect("ibv_create_qp", errno_of(parts.create().get()));
}

void add_srq(Parts& parts, ibv_pd* pd) {
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1}};
  parts.srq = Srq(ibv_create_srq(pd, &init));
  parts.j.require("ibv_create_srq", errno_of(parts.srq.get()));
  parts.init.srq = parts.srq.get();
}

void srq_ignores_receives(Judge& j) {
  Parts parts(j);
  add_srq(parts, parts.pd.get());
  parts.init.cap.max_recv_wr = UINT32_MAX;
  parts.init.cap.max_recv_sge = UINT32_MAX;
  j.expect("ibv_create_qp", errno_of(parts.create().get()));
}

// The PD of an SRQ may differ from that of its queue pairs (draft-hilland-rddp-verbs 6.3.5); a
// device may insist on one PD.
void srq_of_other_pd(Judge& j) {
  Parts parts(j);
  const Pd other(ibv_alloc_pd(j.context()));
  add_srq(parts, other.get());
  j.expect("ibv_create_qp", errno_of(parts.create().get()), {0, EINVAL});
}

void srq_of_uc(Judge& j) {
  Parts parts(j);
  add_srq(parts, parts.pd.get());
  parts.init.qp_type = IBV_QPT_UC;
  parts.expect_refused("ibv_create_qp", parts.create(), {EINVAL, EOPNOTSUPP});
}

void srq_in_use(Judge& j) {
  Parts parts(j);
  add_srq(parts, parts.pd.get());
  Qp qp = parts.create();
  j.require("ibv_create_qp", errno_of(qp.get()));
  j.expect("ibv_destroy_srq with a queue pair", parts.srq.destroy(), {EBUSY});
  j.expect("ibv_destroy_qp", qp.destroy());
  j.expect("ibv_destroy_srq", parts.srq.destroy());
}

// Fields ------------------------------------------------------------------------------------------

template <bool signal_all>
void fields(Judge& j) {
  Parts parts(j);
  const Cq recv_cq(ibv_create_cq(j.context(), 16, nullptr, nullptr, 0));
  parts.init.recv_cq = recv_cq.get();
  parts.init.sq_sig_all = signal_all ? 1 : 0;
  const Qp qp = parts.create();
  j.require("ibv_create_qp", errno_of(qp.get()));
  j.expect_true("context", qp->context == j.context(), "the context");
  j.expect_true("qp_context", qp->qp_context == &parts, "as passed");
  j.expect_true("pd", qp->pd == parts.pd.get(), "as passed");
  j.expect_true("send_cq", qp->send_cq == parts.cq.get(), "as passed");
  j.expect_true("recv_cq", qp->recv_cq == recv_cq.get(), "as passed");
  j.expect_true("srq", qp->srq == nullptr, "none");
  j.expect_equal("qp_type", qp->qp_type, IBV_QPT_RC);
  j.expect_true("qp_num", qp->qp_num != 0 && qp->qp_num <= 0xFFFFFF, "a number of 24 bits");
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  j.require("ibv_query_qp", errno_of(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE, &init)));
  j.expect_true("queried qp_context", init.qp_context == &parts, "as passed");
  j.expect_true("queried send_cq", init.send_cq == parts.cq.get(), "as passed");
  j.expect_true("queried recv_cq", init.recv_cq == recv_cq.get(), "as passed");
  j.expect_true("queried srq", init.srq == nullptr, "none");
  j.expect_equal("queried qp_type", init.qp_type, IBV_QPT_RC);
  j.expect_equal("queried sq_sig_all", static_cast<unsigned>(init.sq_sig_all), signal_all ? 1 : 0);
}

void distinct_numbers(Judge& j) {
  Parts parts(j);
  std::vector<Qp> all;
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 8; ++i) {
    all.push_back(parts.create());
    j.require(fmt::format("ibv_create_qp, number {}", i), errno_of(all.back().get()));
    numbers.push_back(all.back()->qp_num);
  }
  std::ranges::sort(numbers);
  j.expect_true("qp_num of 8 queue pairs", std::ranges::adjacent_find(numbers) == numbers.end(),
                "all differ");
}

// The extended form -------------------------------------------------------------------------------

void ex_plain(Judge& j) {
  Parts parts(j);
  j.expect("ibv_create_qp_ex", errno_of(parts.create_ex(IBV_QP_INIT_ATTR_PD).get()));
}

void ex_without_pd(Judge& j) {
  Parts parts(j);
  parts.expect_refused("ibv_create_qp_ex", parts.create_ex(0), {EINVAL, EOPNOTSUPP});
}

void ex_unknown_bit(Judge& j) {
  Parts parts(j);
  parts.expect_refused("ibv_create_qp_ex", parts.create_ex(IBV_QP_INIT_ATTR_PD | 1U << 31),
                       {EINVAL, EOPNOTSUPP});
}

template <ibv_qp_type type, std::uint64_t operation>
void ex_operation(Judge& j) {
  Parts parts(j);
  parts.init.qp_type = type;
  constexpr auto kMask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  parts.expect_refused("ibv_create_qp_ex", parts.create_ex(kMask, operation), {EINVAL, EOPNOTSUPP});
}

template <std::uint32_t flag>
void ex_flag(Judge& j) {
  Parts parts(j);
  constexpr auto kMask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  parts.expect_refused("ibv_create_qp_ex", parts.create_ex(kMask, 0, flag), {EINVAL, EOPNOTSUPP});
}

// Destroying --------------------------------------------------------------------------------------

void objects_in_use(Judge& j) {
  Parts parts(j);
  Qp qp = parts.create();
  j.require("ibv_create_qp", errno_of(qp.get()));
  j.expect("ibv_dealloc_pd with a queue pair", parts.pd.destroy(), {EBUSY});
  j.expect("ibv_destroy_cq with a queue pair", parts.cq.destroy(), {EBUSY});
  j.expect("ibv_destroy_qp", qp.destroy());
  j.expect("ibv_destroy_cq", parts.cq.destroy());
  j.expect("ibv_dealloc_pd", parts.pd.destroy());
}

void destroy_attached(Judge& j) {
  End end(j, {.type = IBV_QPT_UD});
  bring(end, IBV_QPS_RTS);
  ibv_gid group{.raw = {0xFF, 0x0E}};
  group.raw[15] = 9;
  j.require("ibv_attach_mcast", errno_of(ibv_attach_mcast(end.qp.get(), &group, 0)));
  j.expect("ibv_destroy_qp in a group", end.qp.destroy(), {EBUSY});
  j.require("ibv_detach_mcast", errno_of(ibv_detach_mcast(end.qp.get(), &group, 0)));
  j.expect("ibv_destroy_qp", end.qp.destroy());
}

template <ibv_qp_type type, ibv_qp_state state>
void destroy_in(Judge& j) {
  End end(j, {.type = type});
  bring(end, state);
  j.expect("ibv_destroy_qp", end.qp.destroy());
  j.expect("ibv_destroy_cq", end.send_cq.destroy());
}

// The peer of a queue pair that is destroyed or moves to ERR sends nothing, so it does not notice
// (IBTA vol. 1, 9.9.2), whatever its timeout is.
template <int timeout, ibv_qp_type type = IBV_QPT_RC, bool destroyed = true>
void end_peer(Judge& j) {
  Pair pair(j, {.type = type}, {.type = type, .timeout = timeout});
  j.require("ibv_post_recv", pair.b.post_recv(9, 0, 8));
  j.require("ibv_post_send, a Write",
            pair.a.post_send(pair.a.request(1, IBV_WR_RDMA_WRITE, pair.b), 0, 8));
  expect_done(j, "the Write", pair.a.send_cq, 1);
  j.expect("the end of the peer", destroyed ? pair.a.qp.destroy() : pair.a.modify(IBV_QPS_ERR));
  exchange_elsewhere(j);
  expect_same_state(j, "the peer has ended", pair.b, IBV_QPS_RTS);
  expect_empty(j, "the receive stays posted", pair.b.recv_cq);
}

void destroy_outstanding(Judge& j) {
  Pair pair(j);
  for (unsigned i = 0; i < 4; ++i) {
    must(j, "ibv_post_recv", pair.a.post_recv(i, 0, 8));
    must(j, "ibv_post_send", pair.a.post_send(send_of(i), 8UL * i, 8));
  }
  j.expect("ibv_destroy_qp", pair.a.qp.destroy());
  j.expect("ibv_dereg_mr", pair.a.mr.destroy());
  j.expect("ibv_destroy_cq", pair.a.send_cq.destroy());
}

constexpr auto kUnknownOperation = std::uint64_t{1} << 40;

// clang-format off
constexpr Case kCases[] = {
    {"qp/create/unknown-type", "IBV-382", "refuses a queue pair type that does not exist", unknown_type<0x77>},
    {"qp/create/no-type", "IBV-382", "refuses queue pair type 0", unknown_type<0>},
    {"qp/create/no-send-cq", "IBV-398", "refuses a queue pair without a send CQ", without_cq<&ibv_qp_init_attr::send_cq>, kNothing, kDangerous},
    {"qp/create/no-recv-cq", "IBV-398", "refuses a queue pair without a receive CQ", without_cq<&ibv_qp_init_attr::recv_cq>, kNothing, kDangerous},
    {"qp/create/max-send-wr", "IBV-26 IBV-383 IBV-488", "grants max_send_wr up to the device's max_qp_wr", at_limit<&ibv_qp_cap::max_send_wr>},
    {"qp/create/max-recv-wr", "IBV-26 IBV-383 IBV-488", "grants max_recv_wr up to the device's max_qp_wr", at_limit<&ibv_qp_cap::max_recv_wr>},
    {"qp/create/max-send-sge", "IBV-27 IBV-383 IBV-488", "grants max_send_sge up to the device's max_sge", at_limit<&ibv_qp_cap::max_send_sge>},
    {"qp/create/max-recv-sge", "IBV-27 IBV-383 IBV-488", "grants max_recv_sge up to the device's max_sge", at_limit<&ibv_qp_cap::max_recv_sge>},
    {"qp/create/max-send-wr-above", "IBV-26 IBV-388", "refuses max_send_wr above the device's max_qp_wr", above_limit<&ibv_qp_cap::max_send_wr>},
    {"qp/create/max-recv-wr-above", "IBV-26 IBV-388", "refuses max_recv_wr above the device's max_qp_wr", above_limit<&ibv_qp_cap::max_recv_wr>},
    {"qp/create/max-send-sge-above", "IBV-27 IBV-388", "refuses max_send_sge above the device's max_sge", above_limit<&ibv_qp_cap::max_send_sge>},
    {"qp/create/max-recv-sge-above", "IBV-27 IBV-388", "refuses max_recv_sge above the device's max_sge", above_limit<&ibv_qp_cap::max_recv_sge>},
    {"qp/create/max-send-wr-huge", "IBV-26 IBV-388", "refuses max_send_wr 2^32 - 1", far_above_limit<&ibv_qp_cap::max_send_wr>},
    {"qp/create/max-inline-huge", "IBV-388", "refuses max_inline_data 2^32 - 1", far_above_limit<&ibv_qp_cap::max_inline_data>},
    {"qp/create/no-receives", "IBV-389", "creates a queue pair without a receive queue", one_queue<&ibv_qp_cap::max_recv_wr, &ibv_qp_cap::max_recv_sge>},
    {"qp/create/raw-packet", "IBV-394", "creates a queue pair of type RAW_PACKET, or reports that it cannot", type_refused<IBV_QPT_RAW_PACKET, 0, EPERM>},
    {"qp/create/driver", "IBV-395", "creates a queue pair of type DRIVER, or reports that it cannot", type_refused<IBV_QPT_DRIVER, 0, EPERM>},
    {"qp/create/xrc-send", "IBV-396", "creates a queue pair of type XRC_SEND, or reports that it cannot", type_refused<IBV_QPT_XRC_SEND, 0, EPERM>},
    {"qp/create/rnic-uc", "IBV-397", "refuses UC over iWARP", type_refused<IBV_QPT_UC>, kIwarp},
    {"qp/create/rnic-ud", "IBV-397", "refuses UD over iWARP", type_refused<IBV_QPT_UD>, kIwarp},
    {"qp/create/srq-of-uc", "IBV-393", "refuses an SRQ for a UC queue pair", srq_of_uc, kSrq | kUc},
    {"qp/create-ex/scatter-fcs", "IBV-405", "refuses IBV_QP_CREATE_SCATTER_FCS for RC", ex_flag<IBV_QP_CREATE_SCATTER_FCS>},
    {"qp/create-ex/cvlan-stripping", "IBV-405", "refuses IBV_QP_CREATE_CVLAN_STRIPPING for RC", ex_flag<IBV_QP_CREATE_CVLAN_STRIPPING>},
    {"qp/create-ex/source-qpn", "IBV-406", "refuses IBV_QP_CREATE_SOURCE_QPN for RC", ex_flag<IBV_QP_CREATE_SOURCE_QPN>},
    {"qp/create-ex/tso", "IBV-410", "refuses IBV_QP_EX_WITH_TSO for RC", ex_operation<IBV_QPT_RC, IBV_QP_EX_WITH_TSO>},
    {"qp/create-ex/ud-atomic", "IBV-410", "refuses atomics in send_ops_flags of a UD queue pair", ex_operation<IBV_QPT_UD, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP>, kUd},
    {"qp/destroy/attached", "IBV-495", "refuses to destroy a queue pair that is attached to a multicast group", destroy_attached, kUd},
    {"qp/create/srq-ignores-receives", "IBV-374 IBV-392", "ignores max_recv_wr and max_recv_sge of a queue pair with an SRQ", srq_ignores_receives, kSrq},
    {"qp/create/srq-of-other-pd", "IBV-381", "creates a queue pair with the SRQ of another PD, or refuses it", srq_of_other_pd, kSrq},
    {"qp/create/srq-in-use", "IBV-350", "refuses to destroy an SRQ that a queue pair uses", srq_in_use, kSrq},
    {"qp/create/fields", "IBV-382 IBV-390 IBV-399 IBV-488", "fills the fields of ibv_qp, and returns them from ibv_query_qp()", fields<false>},
    {"qp/create/signal-all", "IBV-488", "returns sq_sig_all from ibv_query_qp()", fields<true>},
    {"qp/create/distinct-numbers", "IBV-390", "assigns a different number to each queue pair", distinct_numbers},
    {"qp/create-ex/plain", "IBV-401", "creates a queue pair with ibv_create_qp_ex()", ex_plain},
    {"qp/create-ex/without-pd", "IBV-402", "refuses ibv_create_qp_ex() without a PD", ex_without_pd},
    {"qp/create-ex/unknown-bit", "IBV-403", "refuses an unknown bit in comp_mask of ibv_create_qp_ex()", ex_unknown_bit},
    {"qp/create-ex/unknown-operation", "IBV-410", "refuses an unknown bit in send_ops_flags", ex_operation<IBV_QPT_RC, kUnknownOperation>},
    {"qp/create-ex/uc-read", "IBV-410", "refuses Reads in send_ops_flags of a UC queue pair", ex_operation<IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ>, kUc},
    {"qp/create-ex/uc-atomic", "IBV-410", "refuses atomics in send_ops_flags of a UC queue pair", ex_operation<IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD>, kUc},
    {"qp/create-ex/ud-write", "IBV-410", "refuses Writes in send_ops_flags of a UD queue pair", ex_operation<IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE>, kUd},
    {"qp/create-ex/ud-bind", "IBV-410", "refuses binds in send_ops_flags of a UD queue pair", ex_operation<IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW>, kUd},
    {"qp/destroy/objects-in-use", "IBV-118 IBV-236 IBV-499", "refuses to destroy the PD or CQ of an existing queue pair", objects_in_use},
    {"qp/destroy/reset", "IBV-494", "destroys an RC queue pair in RESET", destroy_in<IBV_QPT_RC, IBV_QPS_RESET>},
    {"qp/destroy/init", "IBV-494", "destroys an RC queue pair in INIT", destroy_in<IBV_QPT_RC, IBV_QPS_INIT>, kByHand},
    {"qp/destroy/rtr", "IBV-494", "destroys an RC queue pair in RTR", destroy_in<IBV_QPT_RC, IBV_QPS_RTR>, kByHand},
    {"qp/destroy/rts", "IBV-494", "destroys an RC queue pair in RTS", destroy_in<IBV_QPT_RC, IBV_QPS_RTS>, kByHand},
    {"qp/destroy/err", "IBV-494", "destroys an RC queue pair in ERR", destroy_in<IBV_QPT_RC, IBV_QPS_ERR>, kByHand},
    {"qp/destroy/ud-rts", "IBV-494", "destroys a UD queue pair in RTS", destroy_in<IBV_QPT_UD, IBV_QPS_RTS>, kUd},
    {"qp/destroy/ud-sqe", "IBV-494", "destroys a UD queue pair in SQE", destroy_in<IBV_QPT_UD, IBV_QPS_SQE>, kUd},
    {"qp/destroy/uc-rts", "IBV-494", "destroys a UC queue pair in RTS", destroy_in<IBV_QPT_UC, IBV_QPS_RTS>, kByHand | kUc},
    {"qp/destroy/outstanding", "IBV-494 IBV-497", "destroys a queue pair while requests and receives are outstanding", destroy_outstanding, kByHand},
    {"qp/destroy/peer-timeout-14", "IBV-500", "keeps the peer of a destroyed queue pair in RTS with timeout 14", end_peer<14>, kByHand},
    {"qp/destroy/peer-timeout-1", "IBV-500", "keeps the peer of a destroyed queue pair in RTS with timeout 1", end_peer<1>, kByHand},
    {"qp/destroy/peer-timeout-0", "IBV-480 IBV-500", "keeps the peer of a destroyed queue pair in RTS with timeout 0", end_peer<0>, kByHand},
    {"qp/destroy/uc-peer", "IBV-500", "keeps the peer of a destroyed UC queue pair in RTS", end_peer<14, IBV_QPT_UC>, kByHand | kUc},
    {"qp/destroy/uc-peer-in-err", "IBV-455", "keeps the peer of a UC queue pair in ERR in RTS", end_peer<14, IBV_QPT_UC, false>, kByHand | kUc},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::qp_create

iwarp::judge::Table iwarp::judge::qp_create_cases() { return qp_create::kCases; }
