// SPDX-License-Identifier: Apache-2.0
// Cases about the queue pairs, completion queues and shared receive queues of ids.
#include <array>
#include <string_view>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_qps {
namespace {

rdma_cm_id* resolved(Judge& j, rdma_port_space space = RDMA_PS_TCP) {
  return new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)), space);
}

int create(rdma_cm_id* id, ibv_qp_init_attr& init, ibv_pd* pd = nullptr) {
  return errno_of(rdma_create_qp(id, pd, &init));
}

void created(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_qp_init_attr init = qp_init(id);
  j.require("rdma_create_qp", create(id, init));
  j.require_true("id->qp", id->qp != nullptr, "set");
  j.expect_equal("its type", id->qp->qp_type, IBV_QPT_RC);
  j.expect("its state", query(j, id->qp, IBV_QP_STATE).qp_state, {IBV_QPS_INIT});
  j.expect_true("id->send_cq", id->send_cq != nullptr && id->qp->send_cq == id->send_cq,
                "that of the queue pair");
  j.expect_true("id->recv_cq", id->recv_cq != nullptr && id->qp->recv_cq == id->recv_cq,
                "that of the queue pair");
  j.expect_true("channels", id->send_cq_channel != nullptr && id->recv_cq_channel != nullptr,
                "both are set");
  j.expect_true("queues of the attributes",
                init.send_cq == id->send_cq && init.recv_cq == id->recv_cq, "those of the id");
  j.expect_true("capabilities of the attributes",
                init.cap.max_send_wr >= 8 && init.cap.max_recv_wr >= 8 &&
                    init.cap.max_send_sge >= 2 && init.cap.max_recv_sge >= 2,
                "at least those requested");
  ibv_qp_attr attr{};
  ibv_qp_init_attr actual{};
  must(j, "ibv_query_qp", errno_of(ibv_query_qp(id->qp, &attr, IBV_QP_CAP, &actual)));
  j.expect_equal("max_send_wr of ibv_query_qp", attr.cap.max_send_wr, init.cap.max_send_wr);
  ibv_qp* const first = id->qp;
  j.expect("rdma_create_qp again", create(id, init), {EINVAL});
  j.expect_true("id->qp after it", id->qp == first, "the first queue pair");
  rdma_destroy_qp(id);
  j.expect_true("id->qp after rdma_destroy_qp", id->qp == nullptr, "null");
  j.expect_true("the queues after rdma_destroy_qp",
                id->send_cq == nullptr && id->recv_cq == nullptr &&
                    id->send_cq_channel == nullptr && id->recv_cq_channel == nullptr,
                "null");
  init = qp_init(id);
  j.expect("rdma_create_qp after rdma_destroy_qp", create(id, init));
}

template <bool IsBound>
void without_device(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  Address any("0.0.0.0");
  if (IsBound) must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, any)));
  ibv_qp_init_attr init = qp_init(id);
  j.expect("rdma_create_qp", create(id, init), {EINVAL});
  ibv_srq_init_attr srq{.attr = {.max_wr = 4, .max_sge = 1}};
  j.expect("rdma_create_srq", errno_of(rdma_create_srq(id, nullptr, &srq)), {EINVAL});
}

void domains(Judge& j) {
  rdma_cm_id* const a = resolved(j);
  rdma_cm_id* const b = resolved(j);
  create_qp(j, a);
  create_qp(j, b);
  j.expect_true("the default domain", a->pd != nullptr && a->pd == b->pd && a->qp->pd == a->pd,
                "one for all ids of the device");
  rdma_destroy_qp(a);
  ibv_pd* const own = ibv_alloc_pd(a->verbs);
  must(j, "ibv_alloc_pd", errno_of(own));
  ibv_qp_init_attr init = qp_init(a);
  j.require("rdma_create_qp with a domain", create(a, init, own));
  j.expect_true("domain of the queue pair", a->qp->pd == own, "the one that was passed");
  j.expect_true("id->pd", a->pd == own, "the one that was passed");
}

void foreign_domain(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_device* other = nullptr;
  for (ibv_device** each = list; each != nullptr && *each != nullptr; ++each) {
    const std::string_view name = ibv_get_device_name(*each);
    if (name != ibv_get_device_name(id->verbs->device)) other = *each;
  }
  if (other == nullptr) j.not_applicable("this host has no other device");
  Context context(ibv_open_device(other));
  must(j, "ibv_open_device", errno_of(context.get()));
  Pd pd(ibv_alloc_pd(context.get()));
  must(j, "ibv_alloc_pd", errno_of(pd.get()));
  ibv_qp_init_attr init = qp_init(id);
  j.expect("rdma_create_qp, domain of another device", create(id, init, pd.get()), {EINVAL});
  j.expect_true("id->qp", id->qp == nullptr, "null");
}

void own_queues(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_cq* const cq = ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0);
  must(j, "ibv_create_cq", errno_of(cq));
  ibv_qp_init_attr init = qp_init(id);
  init.send_cq = init.recv_cq = cq;
  j.require("rdma_create_qp, both queues", create(id, init));
  j.expect_true("id->send_cq and id->recv_cq", id->send_cq == nullptr && id->recv_cq == nullptr,
                "null");
  j.expect_true("queue of the queue pair", id->qp->send_cq == cq, "the program's");
  rdma_destroy_qp(id);
  init = qp_init(id);
  init.send_cq = cq;
  j.require("rdma_create_qp, one queue", create(id, init));
  j.expect_true("id->send_cq", id->send_cq == nullptr, "null");
  j.expect_true("id->recv_cq", id->recv_cq != nullptr && init.recv_cq == id->recv_cq,
                "a new queue, also in the attributes");
}

void contradicting_queues(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_cq* const one = ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0);
  ibv_cq* const other = ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0);
  id->send_cq = one;
  ibv_qp_init_attr init = qp_init(id);
  init.send_cq = init.recv_cq = other;
  j.expect("send_cq of the id and another", create(id, init), {EINVAL});
  id->send_cq = nullptr;
  id->recv_cq = one;
  j.expect("recv_cq of the id and another", create(id, init), {EINVAL});
}

void failed(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_qp_init_attr init = qp_init(id);
  init.cap.max_send_wr = static_cast<std::uint32_t>(j.attributes().max_qp_wr) + 1;
  j.expect_true("max_send_wr above the device's", create(id, init) != 0, "an error");
  j.expect_true("id->qp and queues",
                id->qp == nullptr && id->send_cq == nullptr && id->recv_cq == nullptr, "null");
  init = qp_init(id);
  j.expect("rdma_create_qp, then", create(id, init));
}

void wrong_type(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_qp_init_attr init = qp_init(id);
  init.qp_type = IBV_QPT_UD;
  j.expect("rdma_create_qp of type UD", create(id, init), {EINVAL});
}

void extended(Judge& j) {
  rdma_cm_id* const id = resolved(j);
  ibv_qp_init_attr_ex init{};
  init.cap = qp_init(id).cap;
  init.qp_type = IBV_QPT_RC;
  init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  j.require("rdma_create_qp_ex", errno_of(rdma_create_qp_ex(id, &init)));
  j.expect_true("ibv_qp_to_qp_ex", ibv_qp_to_qp_ex(id->qp) != nullptr, "not null");
}

void shared_queue(Judge& j) {
  Ids ids(j, RDMA_PS_TCP, false);
  ibv_srq_init_attr init{.attr = {.max_wr = 8, .max_sge = 1}};
  j.require("rdma_create_srq", errno_of(rdma_create_srq(ids.client, nullptr, &init)));
  j.require_true("id->srq", ids.client->srq != nullptr, "set");
  j.expect_true("its domain", ids.client->srq->pd == ids.client->pd, "that of the id");
  j.expect_true("max_wr of the attributes", init.attr.max_wr >= 8, "at least 8");
  create_qp(j, ids.client);
  j.expect_true("srq of the queue pair", ids.client->qp->srq == ids.client->srq, "that of the id");
  std::array<char, 8> in{};
  std::array<char, 8> out{"abc"};
  ibv_mr* const to = rdma_reg_msgs(ids.client, in.data(), in.size());
  int context = 0;
  j.expect("rdma_post_recv", errno_of(rdma_post_recv(ids.client, &context, in.data(), 8, to)));
  const CmEvent request = ids.request();
  if (!j.is_iwarp()) j.expect_equal("srq of the request", request.conn.srq, 1);
  ids.accept();
  ibv_mr* const from = rdma_reg_msgs(ids.server, out.data(), out.size());
  must(j, "rdma_post_send", errno_of(rdma_post_send(ids.server, nullptr, out.data(), 3, from, 0)));
  const ibv_wc wc = expect_completion(j, "the receive", ids.client->recv_cq);
  j.expect_true("its wr_id", wc.wr_id == reinterpret_cast<std::uint64_t>(&context), "the context");
  rdma_destroy_qp(ids.client);
  rdma_destroy_srq(ids.client);
  j.expect_true("id->srq after rdma_destroy_srq", ids.client->srq == nullptr, "null");
}

void attributes(Judge& j) {
  rdma_cm_id* const id = new_id(j, new_channel(j));
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  int mask = 0;
  j.expect("rdma_init_qp_attr, new id", errno_of(rdma_init_qp_attr(id, &attr, &mask)), {EINVAL});
  Ids ids(j);
  ids.connect();
  attr.qp_state = IBV_QPS_SQD;
  j.expect("rdma_init_qp_attr, SQD", errno_of(rdma_init_qp_attr(ids.client, &attr, &mask)),
           {EINVAL});
}

void datagrams(Judge& j) {
  rdma_cm_id* const id = resolved(j, RDMA_PS_UDP);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  int mask = 0;
  j.expect("rdma_init_qp_attr", errno_of(rdma_init_qp_attr(id, &attr, &mask)));
  j.expect_equal("its qkey", attr.qkey, kQKeyOfCm);
  create_qp(j, id);
  const ibv_qp_attr now = query(j, id->qp, IBV_QP_STATE | IBV_QP_QKEY);
  j.expect("state of the queue pair", now.qp_state, {IBV_QPS_RTS});
  j.expect_equal("qkey of the queue pair", now.qkey, kQKeyOfCm);
}

void extra_options(Judge& j) {
  Ids ids(j, RDMA_PS_TCP, false);
  ibv_ece ece{.vendor_id = 1, .options = 1, .comp_mask = 0};
  j.expect("rdma_set_local_ece(NULL)", errno_of(rdma_set_local_ece(ids.client, nullptr)), {EINVAL});
  create_qp(j, ids.client);
  j.expect("rdma_set_local_ece, id with a queue pair",
           errno_of(rdma_set_local_ece(ids.client, &ece)), {EINVAL});
  j.expect("rdma_get_remote_ece, id with a queue pair",
           errno_of(rdma_get_remote_ece(ids.client, &ece)), {EINVAL});
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/qp/create", "RCM-195 RCM-197 RCM-198 RCM-204 RCM-208 RCM-209 RCM-214 RCM-215", "creates one queue pair with its completion queues", created, kCm},
    {"cm/qp/idle", "RCM-196 RCM-218", "refuses rdma_create_qp() on an rdma_cm_id without a device", without_device<false>, kCm, kDangerous},
    {"cm/qp/wildcard", "RCM-196 RCM-218", "refuses rdma_create_qp() on an rdma_cm_id bound to a wildcard address", without_device<true>, kCm, kDangerous},
    {"cm/qp/domain", "RCM-201 RCM-202", "creates a queue pair in the protection domain of the call", domains, kCm},
    {"cm/qp/foreign-domain", "RCM-203", "refuses a protection domain of another device", foreign_domain, kCm},
    {"cm/qp/own-queues", "RCM-205 RCM-206 RCM-209 RCM-289", "creates only the completion queues that ibv_qp_init_attr does not name", own_queues, kCm},
    {"cm/qp/contradicting-queues", "RCM-207", "refuses a send_cq or recv_cq other than that of the rdma_cm_id", contradicting_queues, kCm},
    {"cm/qp/failed", "RCM-210", "creates no object if rdma_create_qp() fails", failed, kCm},
    {"cm/qp/wrong-type", "RCM-211", "refuses a queue pair type other than that of the rdma_cm_id", wrong_type, kCm},
    {"cm/qp/extended", "RCM-213", "creates a queue pair that supports ibv_wr_*()", extended, kCm | kWrEx},
    {"cm/qp/srq", "RCM-186 RCM-212 RCM-217 RCM-220 RCM-221 RCM-223 RCM-269", "uses the shared receive queue of the rdma_cm_id", shared_queue, kCm | kSrq},
    {"cm/qp/init-attr", "RCM-227 RCM-228", "refuses rdma_init_qp_attr() on a new rdma_cm_id and for the state SQD", attributes, kCm},
    {"cm/qp/datagrams", "RCM-199 RCM-229 RCM-359", "creates a UD queue pair in RTS", datagrams, kCm | kUd},
    {"cm/qp/ece", "RCM-231 RCM-233", "refuses rdma_set_local_ece() and rdma_get_remote_ece() if the rdma_cm_id has a queue pair", extra_options, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_qps

iwarp::judge::Table iwarp::judge::cm_qps_cases() { return cm_qps::kCases; }
