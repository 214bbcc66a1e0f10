// SPDX-License-Identifier: Apache-2.0
// Cases about requests that fail: for each opcode, keys, rights, lengths and addresses that are
// wrong at one of the ends; the status at both ends, both states, the memory, and the asynchronous
// event (IBTA vol. 1, 9.9 and 11.6.2; RFC 5040 section 7).

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::data_faults {
namespace {

constexpr std::uint64_t kRequest = 5;
constexpr std::uint64_t kReceive = 6;
constexpr std::uint32_t kLength = 8;
constexpr std::size_t kRemote = 1024;

/// What is wrong, and at which end.
enum class Fault {
  kLocal,          ///< the requester cannot use its own buffers, and sends nothing
  kRemoteAccess,   ///< the responder does not permit the access
  kRemoteInvalid,  ///< the responder does not support the request
};

/// A request that one of the functions below spoils.
struct Trial {
  Trial(Judge& j, ibv_wr_opcode opcode, const EndOptions& of_b)
      : pair(j, {}, of_b),
        wr(pair.a.request(kRequest, opcode, pair.b, kRemote)),
        sge(pair.a.sge(0, kLength)) {
    std::memset(pair.a.memory(), 'a', pair.a.options.memory);
    std::memset(pair.b.memory(), 'b', pair.b.options.memory);
  }
  Judge& judge() { return pair.a.judge; }
  std::uint32_t& rkey() { return is_atomic(wr.opcode) ? wr.wr.atomic.rkey : wr.wr.rdma.rkey; }
  std::uint64_t& remote() {
    return is_atomic(wr.opcode) ? wr.wr.atomic.remote_addr : wr.wr.rdma.remote_addr;
  }
  /// Registers the memory of `end` again.
  ibv_mr* add_region(End& end, ibv_pd* in, int rights) {
    mr = Mr(ibv_reg_mr(in, end.memory(), end.options.memory, rights));
    judge().require("ibv_reg_mr", errno_of(mr.get()));
    return mr.get();
  }
  ibv_pd* other_pd() {
    pd = Pd(ibv_alloc_pd(judge().context()));
    judge().require("ibv_alloc_pd", errno_of(pd.get()));
    return pd.get();
  }

  Pair pair;
  Pd pd;
  Mr mr;
  ibv_send_wr wr;
  ibv_sge sge;
};

// At the requester.
void unknown_lkey(Trial& t) { t.sge.lkey ^= 0xFF00; }
void foreign_lkey(Trial& t) { t.sge.lkey = t.add_region(t.pair.a, t.other_pd(), kAllRights)->lkey; }
void closed_lkey(Trial& t) {
  t.sge.lkey = t.add_region(t.pair.a, t.pair.a.pd.get(), kAllRights)->lkey;
  t.judge().require("ibv_dereg_mr", t.mr.destroy());
}
void local_beyond(Trial& t) { t.sge.addr = t.pair.a.address(t.pair.a.options.memory - 7); }
void local_before(Trial& t) { t.sge.addr = t.pair.a.address() - 1; }
void local_read_only(Trial& t) { t.sge.lkey = t.add_region(t.pair.a, t.pair.a.pd.get(), 0)->lkey; }

// At the responder.
void unknown_rkey(Trial& t) { t.rkey() ^= 0xFF00; }
void foreign_rkey(Trial& t) { t.rkey() = t.add_region(t.pair.b, t.other_pd(), kAllRights)->rkey; }
void closed_rkey(Trial& t) {
  t.rkey() = t.add_region(t.pair.b, t.pair.b.pd.get(), kAllRights)->rkey;
  t.judge().require("ibv_dereg_mr", t.mr.destroy());
}
void remote_beyond(Trial& t) {
  // An atomic must also be aligned, so it begins at the end of the region.
  const std::size_t size = t.pair.b.options.memory;
  t.remote() = t.pair.b.address(is_atomic(t.wr.opcode) ? size : size - 7);
}
void remote_before(Trial& t) { t.remote() = t.pair.b.address() - 1; }
template <int rights>
void remote_rights(Trial& t) {
  t.rkey() = t.add_region(t.pair.b, t.pair.b.pd.get(), rights | IBV_ACCESS_LOCAL_WRITE)->rkey;
}
void misaligned(Trial& t) { t.remote() += 4; }
void as_it_is(Trial&) {}

/// An RNIC may complete a Write or Send before the peer finds the fault.
bool may_succeed(ibv_wr_opcode opcode) { return opcode != IBV_WR_RDMA_READ && !is_atomic(opcode); }

void expect_requester(Judge& j, Fault fault, ibv_wr_opcode opcode, ibv_wc_status observed) {
  constexpr auto kStep = "completion of the request";
  const auto remote =
      fault == Fault::kRemoteAccess ? IBV_WC_REM_ACCESS_ERR : IBV_WC_REM_INV_REQ_ERR;
  if (fault == Fault::kLocal) {
    j.expect(kStep, observed, {IBV_WC_LOC_PROT_ERR});
  } else if (!j.is_iwarp()) {
    j.expect(kStep, observed, {remote});
  } else if (may_succeed(opcode)) {
    j.expect(kStep, observed, {IBV_WC_SUCCESS, remote, IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR});
  } else {
    j.expect(kStep, observed, {remote, IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR});
  }
}

/// What the responder shows: with a local error of the requester, nothing, except that an RNIC ends
/// the connection.
void expect_responder(Judge& j, Fault fault, Trial& t) {
  End& b = t.pair.b;
  if (fault == Fault::kLocal && !j.is_iwarp()) {
    exchange_elsewhere(j);
    expect_same_state(j, "a request that was not sent, at the peer", b, IBV_QPS_RTS);
    expect_empty(j, "the receive stays posted", b.recv_cq);
    return;
  }
  expect_state(j, "state of the responder", b, IBV_QPS_ERR);
  expect_flushed(j, "the posted receive", b.recv_cq, kReceive, 1);
  if (fault == Fault::kLocal || j.is_iwarp()) return;
  ibv_qp* about = nullptr;
  const char* const access = ibv_event_type_str(IBV_EVENT_QP_ACCESS_ERR);
  const std::string event = next_affiliated(j, &about);
  // For a request that is not supported, IBTA has the other event, and adapters raise either.
  if (fault == Fault::kRemoteAccess) {
    j.expect_text("event", event, {access});
  } else {
    j.expect_text("event", event, {access, ibv_event_type_str(IBV_EVENT_QP_REQ_ERR)});
  }
  j.expect_true("queue pair of the event", about == b.qp.get(), "the responder");
}

template <ibv_wr_opcode opcode, Fault fault, void (*spoil)(Trial&), int qp_rights = kAllRights,
          int reads = 4>
void failing(Judge& j) {
  Trial t(j, opcode, {.qp_rights = qp_rights, .reads = reads});
  spoil(t);
  j.require("ibv_post_recv", t.pair.b.post_recv(kReceive, 0, 64));
  const int code = post(t.pair.a, t.wr, {t.sge});
  if (spoil == misaligned && code == EINVAL) {
    j.expect("ibv_post_send, misaligned", code, {0, EINVAL});
    return;
  }
  j.require("ibv_post_send", code);
  const auto wc = next(t.pair.a.send_cq);
  j.require_true("the request completes", wc.has_value(), "a completion");
  expect_requester(j, fault, opcode, wc->status);
  j.expect_equal("wr_id", wc->wr_id, kRequest);
  expect_state(j, "state of the requester", t.pair.a, IBV_QPS_ERR);
  expect_responder(j, fault, t);
  expect_bytes(j, "memory of the responder", t.pair.b.memory(), t.pair.b.options.memory, 'b');
  expect_bytes(j, "memory of the requester", t.pair.a.memory(), t.pair.a.options.memory, 'a');
}

// A queue pair without Reads refuses one, or completes it with an error.
void no_reads(Judge& j) {
  Pair pair(j, {.reads = 0}, {});
  const int code = pair.a.post_send(pair.a.request(kRequest, IBV_WR_RDMA_READ, pair.b), 0, 8);
  j.expect("ibv_post_send", code, {0, EINVAL});
  if (code == 0) expect_completion(j, "the Read", pair.a.send_cq, {IBV_WC_LOC_QP_OP_ERR});
}

// The responder takes a right away from its queue pair.
void right_taken_away(Judge& j) {
  Trial t(j, IBV_WR_RDMA_WRITE, {});
  must(j, "ibv_post_recv", t.pair.b.post_recv(kReceive, 0, 64));
  j.require("ibv_post_send", post(t.pair.a, t.wr, {t.sge}));
  expect_done(j, "the Write", t.pair.a.send_cq, kRequest);
  t.pair.b.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  j.expect("ibv_modify_qp", t.pair.b.modify(IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS));
  j.require("ibv_post_send, again", post(t.pair.a, t.wr, {t.sge}));
  expect_completion(j, "the Write again", t.pair.a.send_cq, {IBV_WC_REM_INV_REQ_ERR});
  expect_responder(j, Fault::kRemoteInvalid, t);
}

// At the receive ----------------------------------------------------------------------------------

void short_by_one(Trial& t) { t.sge = t.pair.b.sge(0, kLength - 1); }
void bad_receive_key(Trial& t) {
  t.sge = t.pair.b.sge(0, kLength);
  t.sge.lkey ^= 0xFF00;
}
void read_only_receive(Trial& t) {
  t.sge = t.pair.b.sge(0, kLength);
  t.sge.lkey = t.add_region(t.pair.b, t.pair.b.pd.get(), 0)->lkey;
}
void receive_beyond(Trial& t) { t.sge = t.pair.b.sge(t.pair.b.options.memory - 7, kLength); }
void foreign_receive(Trial& t) {
  t.sge = t.pair.b.sge(0, kLength);
  t.sge.lkey = t.add_region(t.pair.b, t.other_pd(), kAllRights)->lkey;
}

// The receive reports the error, so there is no event (class A; IBTA vol. 1, 11.6.3).
template <ibv_wc_status at_receiver, ibv_wc_status at_sender, void (*spoil)(Trial&)>
void failing_receive(Judge& j) {
  Trial t(j, IBV_WR_SEND, {});
  spoil(t);
  j.require("ibv_post_recv", receive(t.pair.b, kReceive, {t.sge}));
  j.require("ibv_post_recv, the next one", t.pair.b.post_recv(kReceive + 1, 100, 8));
  j.require("ibv_post_send", t.pair.a.post_send(send_of(kRequest), 0, kLength));
  if (j.is_iwarp()) {
    expect_completion(j, "completion of the Send", t.pair.a.send_cq,
                      {IBV_WC_SUCCESS, at_sender, IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR});
  } else {
    expect_completion(j, "completion of the Send", t.pair.a.send_cq, {at_sender});
  }
  const ibv_wc wc =
      expect_completion(j, "completion of the receive", t.pair.b.recv_cq, {at_receiver});
  j.expect_equal("wr_id of the receive", wc.wr_id, kReceive);
  expect_flushed(j, "the next receive", t.pair.b.recv_cq, kReceive + 1, 1);
  expect_state(j, "state of the sender", t.pair.a, IBV_QPS_ERR);
  expect_state(j, "state of the receiver", t.pair.b, IBV_QPS_ERR);
  if (!j.is_iwarp() && j.attributes().max_srq > 0) expect_no_event(j, "events");
}

// Unreliable connections --------------------------------------------------------------------------

// A UC responder drops a request that it refuses, and says nothing (IBTA vol. 1, 9.9.3).
template <ibv_wr_opcode opcode>
void dropped(Judge& j) {
  Pair pair(j, {.type = IBV_QPT_UC});
  auto wr = pair.a.request(kRequest, opcode, pair.b, kRemote);
  if (opcode == IBV_WR_RDMA_WRITE) wr.wr.rdma.rkey ^= 0xFF00;
  j.require("ibv_post_send", pair.a.post_send(wr, 0, kLength));
  expect_done(j, "the request that is dropped", pair.a.send_cq, kRequest);
  j.require("ibv_post_recv", pair.b.post_recv(kReceive, 0, 8));
  j.require("ibv_post_send, the next Send", pair.a.post_send(send_of(kRequest + 1), 0, 8));
  expect_done(j, "the next Send", pair.a.send_cq, kRequest + 1);
  expect_done(j, "its receive", pair.b.recv_cq, kReceive);
  expect_same_state(j, "the dropped request", pair.b, IBV_QPS_RTS);
}

constexpr auto kSend = IBV_WR_SEND;
constexpr auto kSendImm = IBV_WR_SEND_WITH_IMM;
constexpr auto kWrite = IBV_WR_RDMA_WRITE;
constexpr auto kWriteImm = IBV_WR_RDMA_WRITE_WITH_IMM;
constexpr auto kRead = IBV_WR_RDMA_READ;
constexpr auto kCas = IBV_WR_ATOMIC_CMP_AND_SWP;
constexpr auto kFaa = IBV_WR_ATOMIC_FETCH_AND_ADD;
constexpr auto kMayWrite = IBV_ACCESS_REMOTE_WRITE;
constexpr auto kMayRead = IBV_ACCESS_REMOTE_READ;
constexpr auto kMayBoth = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
using enum Fault;

// clang-format off
#define JUDGE_LOCAL(id, opcode, needs) \
  Case{"data/" id "/unknown-lkey", "IBV-315", "refuses an unknown L_Key", failing<opcode, kLocal, unknown_lkey>, needs}, \
  Case{"data/" id "/foreign-lkey", "IBV-315", "refuses the L_Key of another PD", failing<opcode, kLocal, foreign_lkey>, needs}, \
  Case{"data/" id "/closed-lkey", "IBV-315", "refuses the L_Key of a deregistered region", failing<opcode, kLocal, closed_lkey>, needs}, \
  Case{"data/" id "/local-beyond", "IBV-315", "refuses a buffer that ends one byte past its region", failing<opcode, kLocal, local_beyond>, needs}, \
  Case{"data/" id "/local-before", "IBV-315", "refuses a buffer that begins one byte before its region", failing<opcode, kLocal, local_before>, needs}
#define JUDGE_REMOTE(id, opcode, other_right, needs) \
  Case{"data/" id "/unknown-rkey", "IBV-320 IBV-327 IBV-328 IBV-601", "refuses an unknown R_Key", failing<opcode, kRemoteAccess, unknown_rkey>, needs}, \
  Case{"data/" id "/foreign-rkey", "IBV-127 IBV-320", "refuses the R_Key of another PD", failing<opcode, kRemoteAccess, foreign_rkey>, needs}, \
  Case{"data/" id "/closed-rkey", "IBV-320 IBV-327", "refuses the R_Key of a deregistered region", failing<opcode, kRemoteAccess, closed_rkey>, needs}, \
  Case{"data/" id "/remote-beyond", "IBV-320 IBV-327", "refuses access past the end of a region", failing<opcode, kRemoteAccess, remote_beyond>, needs}, \
  Case{"data/" id "/region-right", "IBV-320 IBV-327 IBV-474", "refuses access that the access flags of the region do not permit", failing<opcode, kRemoteAccess, remote_rights<(other_right)>>, needs}, \
  Case{"data/" id "/queue-pair-right", "IBV-319 IBV-474 IBV-600", "refuses access that qp_access_flags does not permit", failing<opcode, kRemoteInvalid, as_it_is, (other_right)>, (needs) | kByHand}

constexpr Case kCases[] = {
    JUDGE_LOCAL("send", kSend, kNothing),
    JUDGE_LOCAL("write", kWrite, kNothing),
    JUDGE_LOCAL("read", kRead, kNothing),
    JUDGE_LOCAL("compare-swap", kCas, kAtomics),
    JUDGE_LOCAL("fetch-add", kFaa, kAtomics),
    {"data/send-imm/unknown-lkey", "IBV-315", "refuses an unknown L_Key", failing<kSendImm, kLocal, unknown_lkey>, kByHand},
    {"data/write-imm/unknown-lkey", "IBV-315", "refuses an unknown L_Key", failing<kWriteImm, kLocal, unknown_lkey>, kImmediate},
    {"data/read/local-right", "IBV-315", "refuses a Read into a region without local write", failing<kRead, kLocal, local_read_only>},
    {"data/compare-swap/local-right", "IBV-315", "refuses an atomic whose result goes to a region without local write", failing<kCas, kLocal, local_read_only>, kAtomics},
    {"data/fetch-add/local-right", "IBV-315", "refuses an atomic whose result goes to a region without local write", failing<kFaa, kLocal, local_read_only>, kAtomics},
    JUDGE_REMOTE("write", kWrite, kMayRead, kNothing),
    JUDGE_REMOTE("write-imm", kWriteImm, kMayRead, kImmediate),
    JUDGE_REMOTE("read", kRead, kMayWrite, kNothing),
    JUDGE_REMOTE("compare-swap", kCas, kMayBoth, kAtomics),
    JUDGE_REMOTE("fetch-add", kFaa, kMayBoth, kAtomics),
    {"data/write/remote-before", "IBV-320 IBV-327 IBV-328", "refuses a Write that starts before a region", failing<kWrite, kRemoteAccess, remote_before>},
    {"data/read/remote-before", "IBV-320 IBV-327 IBV-328", "refuses a Read that starts before a region", failing<kRead, kRemoteAccess, remote_before>},
    {"data/compare-swap/misaligned", "IBV-319 IBV-517", "refuses an atomic at an address that is not a multiple of 8", failing<kCas, kRemoteInvalid, misaligned>, kAtomics},
    {"data/fetch-add/misaligned", "IBV-319 IBV-517", "refuses an atomic at an address that is not a multiple of 8", failing<kFaa, kRemoteInvalid, misaligned>, kAtomics},
    {"data/read/no-resources", "IBV-319 IBV-477", "refuses a Read if max_dest_rd_atomic is 0", failing<kRead, kRemoteInvalid, as_it_is, kAllRights, 0>, kByHand},
    {"data/fetch-add/no-resources", "IBV-319 IBV-477", "refuses an atomic if max_dest_rd_atomic is 0", failing<kFaa, kRemoteInvalid, as_it_is, kAllRights, 0>, kByHand | kAtomics},
    {"data/read/no-reads", "IBV-314 VRB-46", "refuses a Read if max_rd_atomic is 0", no_reads, kByHand},
    {"data/write/right-taken-away", "IBV-475", "refuses a Write after ibv_modify_qp() cleared IBV_ACCESS_REMOTE_WRITE", right_taken_away, kByHand},
    {"data/receive/too-short", "IBV-313", "fails both queue pairs if a receive is one byte too short", failing_receive<IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR, short_by_one>},
    {"data/receive/unknown-lkey", "IBV-316 IBV-321 IBV-542", "fails both queue pairs if a receive has an unknown L_Key", failing_receive<IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, bad_receive_key>},
    {"data/receive/local-right", "IBV-316 IBV-321", "fails both queue pairs if the region of a receive lacks local write", failing_receive<IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, read_only_receive>},
    {"data/receive/local-beyond", "IBV-316 IBV-321", "fails both queue pairs if a receive exceeds its region", failing_receive<IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, receive_beyond>},
    {"data/receive/foreign-lkey", "IBV-316 IBV-321", "fails both queue pairs if a receive has the L_Key of another PD", failing_receive<IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, foreign_receive>},
    {"data/write/uc-unknown-rkey", "", "drops a Write with an unknown R_Key on UC, and keeps the peer in RTS", dropped<kWrite>, kByHand | kUc},
    {"data/send/uc-no-receive", "", "drops a Send without a posted receive on UC, and keeps the peer in RTS", dropped<kSend>, kByHand | kUc},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_faults

iwarp::judge::Table iwarp::judge::data_faults_cases() { return data_faults::kCases; }
