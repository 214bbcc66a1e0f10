// SPDX-License-Identifier: Apache-2.0
// Cases about extended completion queues: ibv_create_cq_ex() and ibv_start_poll().
#include <arpa/inet.h>

#include <functional>
#include <vector>

#include "judge/cases/cases.hpp"
#include "judge/tools/datagrams.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::queues_extended {
namespace {

constexpr EndOptions kExtended{.has_channel = true, .wc_flags = IBV_WC_STANDARD_FLAGS};
constexpr unsigned kMessages = 3;

ibv_cq_ex* extended(const Cq& cq) { return reinterpret_cast<ibv_cq_ex*>(cq.get()); }

/// Starts a batch when a completion has come. Returns the last result of ibv_start_poll().
int start(const Cq& cq) {
  ibv_poll_cq_attr attr{};
  int code = ENOENT;
  wait_for([&] { return (code = ibv_start_poll(extended(cq), &attr)) != ENOENT; });
  return code;
}

/// Waits for a completion, and calls `look` while it is the current one.
void with_completion(Judge& j, const std::string& step, const Cq& cq,
                     const std::function<void(ibv_cq_ex*)>& look) {
  j.require(step, start(cq));
  look(extended(cq));
  ibv_end_poll(extended(cq));
}

int error_of(Judge& j, ibv_cq_init_attr_ex attr) {
  ibv_cq_ex* const made = ibv_create_cq_ex(j.context(), &attr);
  const int code = errno_of(made);
  if (made != nullptr) ibv_destroy_cq(ibv_cq_ex_to_cq(made));
  return code;
}

void create(Judge& j) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 10;
  attr.cq_context = &attr;
  attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* const made = ibv_create_cq_ex(j.context(), &attr);
  j.require("ibv_create_cq_ex", errno_of(made));
  j.expect_true("context", made->context == j.context(), "that of the call");
  j.expect_true("cq_context", made->cq_context == &attr, "that of the call");
  j.expect_true("cqe", made->cqe >= 10, "at least that of the call");
  j.expect("ibv_destroy_cq", errno_of(ibv_destroy_cq(ibv_cq_ex_to_cq(made))));
}

void create_wrong(Judge& j) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 10;
  attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  j.require("ibv_create_cq_ex", error_of(j, attr));
  ibv_cq_init_attr_ex wrong = attr;
  wrong.cqe = 0;
  j.expect("cqe 0", error_of(j, wrong), {EINVAL});
  wrong = attr;
  wrong.comp_vector = static_cast<std::uint32_t>(j.context()->num_comp_vectors);
  j.expect("comp_vector num_comp_vectors", error_of(j, wrong), {EINVAL});
  wrong = attr;
  wrong.comp_mask = 1U << 31;
  j.expect("unknown comp_mask", error_of(j, wrong), {EINVAL, EOPNOTSUPP});
  wrong = attr;
  wrong.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  wrong.flags = 1U << 31;
  j.expect("unknown flags", error_of(j, wrong), {EINVAL, EOPNOTSUPP});
  wrong = attr;
  wrong.wc_flags = std::uint64_t{1} << 63;
  j.expect("unknown wc_flags", error_of(j, wrong), {EINVAL, EOPNOTSUPP});
}

void send(Judge& j, Pair& pair, std::uint64_t wr_id, ibv_wr_opcode opcode = IBV_WR_SEND) {
  j.require("ibv_post_recv " + std::to_string(wr_id), pair.b.post_recv(wr_id, 0, 64));
  ibv_send_wr wr = pair.a.request(wr_id, opcode, pair.b);
  wr.imm_data = htonl(0x12345678);
  j.require("ibv_post_send " + std::to_string(wr_id), pair.a.post_send(wr, 0, 10));
}

void empty(Judge& j) {
  Pair pair(j, {}, kExtended);
  ibv_poll_cq_attr attr{};
  j.expect("ibv_start_poll of an empty queue", ibv_start_poll(extended(pair.b.recv_cq), &attr),
           {ENOENT});
  j.expect("ibv_start_poll again", ibv_start_poll(extended(pair.b.recv_cq), &attr), {ENOENT});
  send(j, pair, 1);
  with_completion(j, "ibv_start_poll with a completion", pair.b.recv_cq,
                  [&](ibv_cq_ex* cq) { j.expect_equal("wr_id", cq->wr_id, 1); });
}

void unknown_attr(Judge& j) {
  Pair pair(j, {}, kExtended);
  ibv_poll_cq_attr attr{.comp_mask = 1};
  const int code = ibv_start_poll(extended(pair.b.recv_cq), &attr);
  j.expect("ibv_start_poll with an unknown comp_mask", code, {EINVAL, EOPNOTSUPP});
}

void batch(Judge& j) {
  Pair pair(j, {}, kExtended);
  for (unsigned i = 0; i < kMessages; ++i) {
    if (i + 1 == kMessages) ibv_req_notify_cq(pair.b.recv_cq.get(), 1);
    j.require("ibv_post_recv " + std::to_string(i), pair.b.post_recv(i));
    ibv_send_wr wr = pair.a.request(i, IBV_WR_SEND, pair.b);
    if (i + 1 == kMessages) wr.send_flags |= IBV_SEND_SOLICITED;
    j.require("ibv_post_send " + std::to_string(i), pair.a.post_send(wr));
  }
  take_cq_event(j, pair.b.channel);
  std::vector<std::uint64_t> found;
  ibv_cq_ex* const cq = extended(pair.b.recv_cq);
  j.require("ibv_start_poll", start(pair.b.recv_cq));
  int code = 0;
  do {
    found.push_back(cq->wr_id);
  } while ((code = ibv_next_poll(cq)) == 0);
  j.expect("ibv_next_poll after the last", code, {ENOENT});
  ibv_end_poll(cq);
  const std::vector<std::uint64_t> all{0, 1, 2};
  j.expect_true("completions of the batch", found == all, "each receive once, in order");
  ibv_poll_cq_attr attr{};
  j.expect("ibv_start_poll after the batch", ibv_start_poll(cq, &attr), {ENOENT});
}

void receive_fields(Judge& j) {
  Pair pair(j, kExtended, kExtended);
  send(j, pair, 5);
  with_completion(j, "ibv_start_poll of the receives", pair.b.recv_cq, [&](ibv_cq_ex* cq) {
    j.expect("status", cq->status);
    j.expect_equal("wr_id", cq->wr_id, 5);
    j.expect_true("opcode", ibv_wc_read_opcode(cq) == IBV_WC_RECV, "IBV_WC_RECV");
    j.expect_equal("byte_len", ibv_wc_read_byte_len(cq), 10);
    j.expect_true("qp_num", ibv_wc_read_qp_num(cq) == pair.b.qp->qp_num, "the queue pair");
    j.expect_true("wc_flags", (ibv_wc_read_wc_flags(cq) & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)) == 0,
                  "neither IBV_WC_WITH_IMM nor IBV_WC_WITH_INV");
  });
  with_completion(j, "ibv_start_poll of the Sends", pair.a.send_cq, [&](ibv_cq_ex* cq) {
    j.expect("status of the Send", cq->status);
    j.expect_equal("wr_id of the Send", cq->wr_id, 5);
    j.expect_true("opcode of the Send", ibv_wc_read_opcode(cq) == IBV_WC_SEND, "IBV_WC_SEND");
  });
}

void immediate(Judge& j) {
  Pair pair(j, {}, kExtended);
  send(j, pair, 5, IBV_WR_SEND_WITH_IMM);
  with_completion(j, "ibv_start_poll", pair.b.recv_cq, [&](ibv_cq_ex* cq) {
    j.expect("status", cq->status);
    j.expect_true("wc_flags", (ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM");
    j.expect_equal("imm_data", ntohl(ibv_wc_read_imm_data(cq)), 0x12345678);
  });
}

void flushed(Judge& j) {
  Pair pair(j, {}, kExtended);
  j.require("ibv_post_recv", pair.b.post_recv(9));
  j.require("ibv_modify_qp to ERR", pair.b.modify(IBV_QPS_ERR));
  with_completion(j, "ibv_start_poll", pair.b.recv_cq, [&](ibv_cq_ex* cq) {
    j.expect("status", cq->status, {IBV_WC_WR_FLUSH_ERR});
    j.expect_equal("wr_id", cq->wr_id, 9);
    j.expect_true("qp_num", ibv_wc_read_qp_num(cq) == pair.b.qp->qp_num, "the queue pair");
    (void)ibv_wc_read_vendor_err(cq);
  });
}

void datagram(Judge& j) {
  Datagrams d(j, kExtended);
  d.receive(1);
  j.require("ibv_post_send", d.pair.a.post_send(d.request(), kTextAt, kPayload));
  with_completion(j, "ibv_start_poll", d.pair.b.recv_cq, [&](ibv_cq_ex* cq) {
    j.expect("status", cq->status);
    j.expect_true("src_qp", ibv_wc_read_src_qp(cq) == d.pair.a.qp->qp_num, "the sender");
    j.expect_true("wc_flags", (ibv_wc_read_wc_flags(cq) & IBV_WC_GRH) != 0, "IBV_WC_GRH");
    j.expect_equal("byte_len", ibv_wc_read_byte_len(cq), kGrh + kPayload);
  });
}

void plain_poll(Judge& j) {
  Pair pair(j, {}, kExtended);
  send(j, pair, 6);
  const ibv_wc wc = expect_completion(j, "ibv_poll_cq", pair.b.recv_cq);
  j.expect_equal("wr_id", wc.wr_id, 6);
  j.expect_equal("byte_len", wc.byte_len, 10);
}

// clang-format off
constexpr Case kCases[] = {
    {"cq-ex/create", "IBV-244 IBV-245 IBV-251", "creates an extended completion queue", create, kCqEx},
    {"cq-ex/create-wrong", "IBV-235 IBV-245 IBV-246 IBV-249", "refuses invalid attributes of an extended completion queue", create_wrong, kCqEx},
    {"cq-ex/empty", "IBV-252", "returns ENOENT from ibv_start_poll() if the queue is empty", empty, kCqEx},
    {"cq-ex/unknown-attribute", "IBV-253", "refuses an unknown comp_mask of ibv_start_poll()", unknown_attr, kCqEx},
    {"cq-ex/batch", "IBV-254 IBV-255", "returns the completions of a batch in order from ibv_next_poll()", batch, kCqEx},
    {"cq-ex/fields", "IBV-256 IBV-257 IBV-259 IBV-262 IBV-264", "returns the fields of a completion from ibv_wc_read_*()", receive_fields, kCqEx},
    {"cq-ex/immediate", "IBV-260 IBV-264", "returns immediate data from ibv_wc_read_imm_data()", immediate, kCqEx | kByHand},
    {"cq-ex/datagram", "IBV-263 IBV-264", "returns the fields of a received datagram from ibv_wc_read_*()", datagram, kCqEx | kUd},
    {"cq-ex/flushed", "IBV-256 IBV-258", "returns the fields of a flushed receive from ibv_wc_read_*()", flushed, kCqEx},
    {"cq-ex/plain-poll", "IBV-269", "permits ibv_poll_cq() on an extended completion queue", plain_poll, kCqEx},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::queues_extended

iwarp::judge::Table iwarp::judge::queues_extended_cases() { return queues_extended::kCases; }
