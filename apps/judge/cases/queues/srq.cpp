// SPDX-License-Identifier: Apache-2.0
// Cases about shared receive queues: creating, posting, modifying, and destroying. srq_messages.cpp
// has those in which messages consume receives.
#include "judge/cases/cases.hpp"

namespace iwarp::judge::queues_srq {
namespace {

/// A shared receive queue in the protection domain of an end that has none itself.
struct Queue {
  explicit Queue(Judge& j, std::uint32_t max_wr = 4, std::uint32_t max_sge = 1) : end(j) {
    init.srq_context = this;
    init.attr = {.max_wr = max_wr, .max_sge = max_sge, .srq_limit = 0};
    srq = Srq(ibv_create_srq(end.pd.get(), &init));
    j.require("ibv_create_srq", errno_of(srq.get()));
  }
  int post(std::uint64_t wr_id, int sges = 1) {
    std::vector<ibv_sge> list(static_cast<std::size_t>(sges), end.sge(0, 8));
    ibv_recv_wr wr{.wr_id = wr_id, .next = nullptr, .sg_list = list.data(), .num_sge = sges};
    ibv_recv_wr* bad = nullptr;
    const int code = errno_of(ibv_post_srq_recv(srq.get(), &wr, &bad));
    has_bad_wr = bad == &wr;
    return code;
  }
  ibv_srq_attr query(Judge& j, const std::string& step) {
    ibv_srq_attr attr{};
    j.require(step, errno_of(ibv_query_srq(srq.get(), &attr)));
    return attr;
  }
  int modify(ibv_srq_attr attr, int mask) {
    return errno_of(ibv_modify_srq(srq.get(), &attr, mask));
  }

  End end;
  ibv_srq_init_attr init{};
  Srq srq;
  bool has_bad_wr = false;  ///< whether bad_wr is the receive that was posted last
};

// Creating --------------------------------------------------------------------------------------

void fields(Judge& j) {
  Queue q(j, 10, 2);
  j.expect_true("context", q.srq->context == j.context(), "that of the domain");
  j.expect_true("pd", q.srq->pd == q.end.pd.get(), "that of the call");
  j.expect_true("srq_context", q.srq->srq_context == &q, "that of the call");
  j.expect_true("max_wr of the call", q.init.attr.max_wr >= 10, "at least the requested one");
  j.expect_true("max_sge of the call", q.init.attr.max_sge >= 2, "at least the requested one");
  const ibv_srq_attr attr = q.query(j, "ibv_query_srq");
  j.expect_true("max_wr of the query", attr.max_wr == q.init.attr.max_wr, "that of the call");
  j.expect_true("max_sge of the query", attr.max_sge >= 2, "at least the requested one");
  j.expect_equal("srq_limit of the query", attr.srq_limit, 0);
}

int error_of(Judge& j, ibv_srq_attr attr) {
  Pd pd(ibv_alloc_pd(j.context()));
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = attr};
  Srq srq(ibv_create_srq(pd.get(), &init));
  return errno_of(srq.get());
}

void wrong_size(Judge& j) {
  const auto wr = static_cast<std::uint32_t>(j.attributes().max_srq_wr);
  const auto sge = static_cast<std::uint32_t>(j.attributes().max_srq_sge);
  j.expect("ibv_create_srq with max_wr 0", error_of(j, {.max_wr = 0, .max_sge = 1}), {EINVAL});
  j.expect("ibv_create_srq above max_srq_wr", error_of(j, {.max_wr = wr + 1, .max_sge = 1}),
           {EINVAL});
  j.expect("ibv_create_srq above max_srq_sge", error_of(j, {.max_wr = 1, .max_sge = sge + 1}),
           {EINVAL});
}

// The device may have no memory for its largest queue.
void largest(Judge& j) {
  const auto wr = static_cast<std::uint32_t>(j.attributes().max_srq_wr);
  const auto sge = static_cast<std::uint32_t>(j.attributes().max_srq_sge);
  j.expect("ibv_create_srq with max_srq_sge", error_of(j, {.max_wr = 1, .max_sge = sge}));
  j.expect("ibv_create_srq with max_srq_wr", error_of(j, {.max_wr = wr, .max_sge = 1}),
           {0, ENOMEM});
}

void limit_at_creation(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  ibv_srq_init_attr init{.srq_context = nullptr,
                         .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 2}};
  Srq srq(ibv_create_srq(pd.get(), &init));
  j.require("ibv_create_srq", errno_of(srq.get()));
  ibv_srq_attr attr{};
  j.require("ibv_query_srq", errno_of(ibv_query_srq(srq.get(), &attr)));
  j.expect_equal("srq_limit", attr.srq_limit, 0);
}

void extended(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  ibv_srq_init_attr_ex init{};
  init.attr = {.max_wr = 10, .max_sge = 2};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  init.srq_type = IBV_SRQT_BASIC;
  init.pd = pd.get();
  Srq srq(ibv_create_srq_ex(j.context(), &init));
  j.require("ibv_create_srq_ex", errno_of(srq.get()));
  j.expect_true("max_wr", init.attr.max_wr >= 10, "at least the requested one");
  j.expect_true("max_sge", init.attr.max_sge >= 2, "at least the requested one");
  std::uint32_t number = 0;
  j.expect("ibv_get_srq_num of a basic queue", errno_of(ibv_get_srq_num(srq.get(), &number)),
           {EINVAL, EOPNOTSUPP});
}

// Posting ---------------------------------------------------------------------------------------

void post_full(Judge& j) {
  Queue q(j);
  for (std::uint32_t i = 0; i < q.init.attr.max_wr; ++i) {
    if (const int code = q.post(i)) return j.require("ibv_post_srq_recv up to max_wr", code);
  }
  j.expect("ibv_post_srq_recv to a full queue", q.post(99), {ENOMEM});
  j.expect_true("bad_wr", q.has_bad_wr, "the receive");
}

void post_sges(Judge& j) {
  Queue q(j, 4, 2);
  const int most = static_cast<int>(q.init.attr.max_sge);
  j.expect("ibv_post_srq_recv without SGEs", q.post(1, 0));
  j.expect("ibv_post_srq_recv with max_sge SGEs", q.post(2, most));
  j.expect("ibv_post_srq_recv with max_sge + 1 SGEs", q.post(3, most + 1), {EINVAL});
}

void post_list(Judge& j) {
  Pair pair(j, {}, {.has_srq = true});
  ibv_srq_attr attr{};
  j.require("ibv_query_srq", errno_of(ibv_query_srq(pair.b.srq.get(), &attr)));
  std::vector<ibv_sge> sges(attr.max_sge + 1, pair.b.sge(0, 8));
  ibv_recv_wr third{.wr_id = 3, .next = nullptr, .sg_list = sges.data(), .num_sge = 1};
  ibv_recv_wr second{
      .wr_id = 2, .next = &third, .sg_list = sges.data(), .num_sge = static_cast<int>(sges.size())};
  ibv_recv_wr first{.wr_id = 1, .next = &second, .sg_list = sges.data(), .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  j.expect("ibv_post_srq_recv whose second receive is wrong",
           errno_of(ibv_post_srq_recv(pair.b.srq.get(), &first, &bad)), {EINVAL});
  j.expect_true("bad_wr", bad == &second, "the second receive");
  j.require("ibv_post_srq_recv", pair.b.post_recv(4));
  for (const std::uint64_t wr_id : {1U, 4U}) {
    const std::string step = "message to receive " + std::to_string(wr_id);
    j.require(step, pair.a.post_send(pair.a.request(5, IBV_WR_SEND, pair.b)));
    const ibv_wc wc = expect_completion(j, step + ": completion", pair.b.recv_cq);
    j.expect_equal(step + ": wr_id", wc.wr_id, wr_id);
  }
}

void post_recv_of_qp(Judge& j) {
  End end(j, {.has_srq = true});
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  j.expect("ibv_post_recv to a queue pair that has an SRQ",
           errno_of(ibv_post_recv(end.qp.get(), &wr, &bad)), {EINVAL});
}

// Queue pairs of an SRQ --------------------------------------------------------------------------

int create_with_srq(Judge& j, ibv_qp_type type, std::uint32_t wr, std::uint32_t sge) {
  Queue q(j);
  ibv_qp_init_attr init{};
  init.send_cq = q.end.send_cq.get();
  init.recv_cq = q.end.recv_cq.get();
  init.srq = q.srq.get();
  init.qp_type = type;
  init.cap = {.max_send_wr = 1, .max_recv_wr = wr, .max_send_sge = 1, .max_recv_sge = sge};
  Qp qp(ibv_create_qp(q.end.pd.get(), &init));
  return errno_of(qp.get());
}

void caps_ignored(Judge& j) {
  j.expect("max_recv_wr 0 and max_recv_sge 0", create_with_srq(j, IBV_QPT_RC, 0, 0));
  const auto wr = static_cast<std::uint32_t>(j.attributes().max_qp_wr) + 1;
  const auto sge = static_cast<std::uint32_t>(j.attributes().max_sge) + 1;
  j.expect("max_recv_wr above max_qp_wr", create_with_srq(j, IBV_QPT_RC, wr, 1));
  j.expect("max_recv_sge above max_sge", create_with_srq(j, IBV_QPT_RC, 1, sge));
}

void type_ud(Judge& j) {
  j.expect("ibv_create_qp of type UD with an SRQ", create_with_srq(j, IBV_QPT_UD, 1, 1));
}

void type_uc(Judge& j) {
  j.expect("ibv_create_qp of type UC with an SRQ", create_with_srq(j, IBV_QPT_UC, 1, 1),
           {EINVAL, EOPNOTSUPP});
}

// The SRQ's domain counts, and not that of the queue pair.
template <bool is_of_srq>
void domain(Judge& j) {
  Queue q(j);
  Pair pair(j, {}, {.has_srq = true, .shared_srq = q.srq.get()});
  ibv_sge sge = is_of_srq ? q.end.sge(0, 8) : pair.b.sge(0, 8);
  ibv_recv_wr wr{.wr_id = 1, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  j.require("ibv_post_srq_recv", errno_of(ibv_post_srq_recv(q.srq.get(), &wr, &bad)));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(7, IBV_WR_SEND, pair.b), 0, 8));
  expect_completion(j, "completion of the receive", pair.b.recv_cq,
                    {is_of_srq ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR});
}

// Modifying -------------------------------------------------------------------------------------

void limit_wrong(Judge& j) {
  Queue q(j);
  j.require("ibv_modify_srq with srq_limit 2", q.modify({.srq_limit = 2}, IBV_SRQ_LIMIT));
  const std::uint32_t above = q.init.attr.max_wr + 1;
  j.expect("ibv_modify_srq with srq_limit max_wr + 1",
           q.modify({.srq_limit = above}, IBV_SRQ_LIMIT), {EINVAL});
  j.expect_equal("srq_limit", q.query(j, "ibv_query_srq").srq_limit, 2);
}

void modify_mask(Judge& j) {
  Queue q(j);
  j.expect("ibv_modify_srq with mask 0", q.modify({.srq_limit = 1}, 0));
  j.expect_equal("srq_limit after mask 0", q.query(j, "ibv_query_srq").srq_limit, 0);
  j.expect("ibv_modify_srq with an unknown bit", q.modify({.srq_limit = 1}, 1 << 7),
           {EINVAL, EOPNOTSUPP});
}

void resize(Judge& j) {
  Queue q(j);
  const std::uint32_t larger = 2 * q.init.attr.max_wr;
  const bool is_offered = (j.attributes().device_cap_flags & IBV_DEVICE_SRQ_RESIZE) != 0;
  const int code = q.modify({.max_wr = larger}, IBV_SRQ_MAX_WR);
  const std::uint32_t now = q.query(j, "ibv_query_srq").max_wr;
  if (is_offered) {
    j.expect("ibv_modify_srq with IBV_SRQ_MAX_WR", code);
    j.expect_true("max_wr", now >= larger, "at least the requested one");
  } else {
    j.expect("ibv_modify_srq with IBV_SRQ_MAX_WR, without IBV_DEVICE_SRQ_RESIZE", code,
             {EINVAL, EOPNOTSUPP, ENOSYS});
    j.expect_true("max_wr", now == q.init.attr.max_wr, "unchanged");
  }
}

void all_or_nothing(Judge& j) {
  Queue q(j);
  const auto above = static_cast<std::uint32_t>(j.attributes().max_srq_wr) + 1;
  j.expect("ibv_modify_srq with a valid srq_limit and max_wr above max_srq_wr",
           q.modify({.max_wr = above, .srq_limit = 1}, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
           {EINVAL, EOPNOTSUPP, ENOSYS});
  j.expect_equal("srq_limit", q.query(j, "ibv_query_srq").srq_limit, 0);
}

// Destroying ------------------------------------------------------------------------------------

void destroy_with_receives(Judge& j) {
  Queue q(j);
  j.require("ibv_post_srq_recv", q.post(1, 1));
  j.expect("ibv_destroy_srq with a receive", q.srq.destroy());
  j.expect("ibv_dereg_mr of its memory", q.end.mr.destroy());
}

// clang-format off
constexpr Case kCases[] = {
    {"srq/create/fields", "IBV-346 IBV-347 IBV-364", "fills the fields of an SRQ", fields, kSrq},
    {"srq/create/wrong", "IBV-44 IBV-45 IBV-349", "refuses an SRQ of an invalid size", wrong_size, kSrq},
    {"srq/create/largest", "IBV-44 IBV-45", "creates an SRQ with max_srq_wr or max_srq_sge", largest, kSrq},
    {"srq/create/limit", "IBV-348", "ignores srq_limit in ibv_create_srq()", limit_at_creation, kSrq},
    {"srq/create/extended", "IBV-351 IBV-354 IBV-366", "creates a basic SRQ by ibv_create_srq_ex()", extended, kSrq},
    {"srq/post/full", "IBV-370", "refuses a receive if the SRQ is full", post_full, kSrq},
    {"srq/post/sges", "IBV-369 VRB-53", "refuses a receive with too many SGEs", post_sges, kSrq},
    {"srq/post/list", "IBV-367 IBV-368", "posts the receives before a refused one to an SRQ, and sets bad_wr to that one", post_list, kSrq},
    {"srq/post/to-queue-pair", "IBV-375", "refuses ibv_post_recv() to a queue pair with an SRQ", post_recv_of_qp, kSrq},
    {"srq/queue-pair/capacities", "IBV-374", "ignores max_recv_wr and max_recv_sge of a queue pair with an SRQ", caps_ignored, kSrq},
    {"srq/queue-pair/ud", "IBV-392", "creates a queue pair of type UD with an SRQ", type_ud, kSrq | kUd},
    {"srq/queue-pair/uc", "IBV-393", "refuses a queue pair of type UC with an SRQ", type_uc, kSrq | kUc},
    {"srq/shared/domain", "IBV-381", "receives into a region of the SRQ's protection domain", domain<true>, kSrq},
    {"srq/shared/other-domain", "IBV-381", "does not receive into a region of the queue pair's protection domain if the SRQ has another one", domain<false>, kSrq},
    {"srq/limit/wrong", "IBV-359", "refuses an srq_limit above the size of the SRQ", limit_wrong, kSrq},
    {"srq/modify/mask", "IBV-363", "changes only the attributes that srq_attr_mask names", modify_mask, kSrq},
    {"srq/modify/resize", "IBV-48 IBV-361", "resizes an SRQ exactly if it reports IBV_DEVICE_SRQ_RESIZE", resize, kSrq},
    {"srq/modify/all-or-nothing", "IBV-362", "changes no attribute of an SRQ if ibv_modify_srq() names an invalid one", all_or_nothing, kSrq},
    {"srq/destroy/receives", "IBV-350", "destroys an SRQ that has receives", destroy_with_receives, kSrq},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::queues_srq

iwarp::judge::Table iwarp::judge::queues_srq_cases() { return queues_srq::kCases; }
