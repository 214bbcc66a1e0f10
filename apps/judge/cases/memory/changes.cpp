// SPDX-License-Identifier: Apache-2.0
// Cases about changing a region with ibv_rereg_mr() and about deregistering it.
#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::memory_changes {
namespace {

constexpr std::uint32_t kWord = 8;

/// A pair whose end b has a second region, which the case changes.
struct Changed {
  explicit Changed(Judge& j, int rights = kAllRights)
      : pair(j), mr(ibv_reg_mr(pair.b.pd.get(), memory.get(), kPage, rights)) {
    j.require("ibv_reg_mr", errno_of(mr.get()));
  }
  ibv_send_wr read() const { return remote(IBV_WR_RDMA_READ, memory.get(), mr->rkey); }

  Pages memory = pages();
  Pair pair;
  Mr mr;
};

/// Calls ibv_rereg_mr(), and ends the case if it fails. Several devices do not offer the call.
void require_rereg(Judge& j, Mr& mr, int flags, ibv_pd* pd, void* address, std::size_t length,
                   int rights) {
  const int code = ibv_rereg_mr(mr.get(), flags, pd, address, length, rights);
  j.require("ibv_rereg_mr", code == 0 ? 0 : errno);
}

void grants(Judge& j) {
  Changed c(j, 0);
  const std::uint32_t before = c.mr->rkey;
  require_rereg(j, c.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_READ);
  j.expect_true("rkey", c.mr->rkey == before, "unchanged");
  expect_done(j, "Read that the change permits", c.pair, c.read(), kWord);
}

void revokes(Judge& j) {
  Changed c(j);
  expect_done(j, "Read before the change", c.pair, c.read(), kWord);
  require_rereg(j, c.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE);
  expect_denied(j, "Read after the change", c.pair, c.read(), kWord);
}

void moves_pd(Judge& j) {
  Changed c(j);
  Pd other(ibv_alloc_pd(j.context()));
  const std::uint32_t before = c.mr->rkey;
  require_rereg(j, c.mr, IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0, 0);
  j.expect_true("rkey", c.mr->rkey == before, "unchanged");
  j.expect_true("ibv_mr.pd", c.mr->pd == other.get(), "the new domain");
  j.expect("ibv_dealloc_pd of the new domain", other.destroy(), {EBUSY});
  expect_denied(j, "Read over a queue pair of the old domain", c.pair, c.read(), kWord);
  c.mr.destroy();
}

void moves_memory(Judge& j) {
  Changed c(j);
  const Pages elsewhere = pages();
  std::strcpy(elsewhere.get(), "moved");
  require_rereg(j, c.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, elsewhere.get(), kPage / 2, 0);
  j.expect_true("addr", c.mr->addr == elsewhere.get(), "the new address");
  j.expect_equal("length", c.mr->length, kPage / 2);
  expect_done(j, "Read from the new memory", c.pair,
              remote(IBV_WR_RDMA_READ, elsewhere.get(), c.mr->rkey), kWord);
  j.expect_text("payload", c.pair.a.memory(0), {"moved"});
  expect_denied(j, "Read from the old memory", c.pair, c.read(), kWord);
}

/// A call that libibverbs refuses. The region stays valid.
template <int flags, bool has_address, std::size_t length, int rights>
void refused_input(Judge& j) {
  Changed c(j);
  const int code = ibv_rereg_mr(c.mr.get(), flags, c.pair.b.pd.get(),
                                has_address ? c.memory.get() : nullptr, length, rights);
  if (code != 0 && errno == EOPNOTSUPP) j.refuse("ibv_rereg_mr", errno);
  j.expect_true("ibv_rereg_mr", code == IBV_REREG_MR_ERR_INPUT, "IBV_REREG_MR_ERR_INPUT");
  expect_done(j, "Read after the failed change", c.pair, c.read(), kWord);
}

void refused_rights(Judge& j) {
  Changed c(j);
  const int code = ibv_rereg_mr(c.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                                IBV_ACCESS_REMOTE_WRITE);
  if (code != 0 && errno == EOPNOTSUPP) j.refuse("ibv_rereg_mr", errno);
  j.expect_true("ibv_rereg_mr with remote but without local write", code == IBV_REREG_MR_ERR_CMD,
                "IBV_REREG_MR_ERR_CMD");
  j.expect("errno", errno, {EINVAL});
  j.expect("ibv_dereg_mr after the failed change", c.mr.destroy());
}

// Deregistering ---------------------------------------------------------------------------------

void stale_rkey(Judge& j) {
  Changed c(j);
  const ibv_send_wr wr = c.read();
  expect_done(j, "Read before ibv_dereg_mr", c.pair, wr, kWord);
  j.expect("ibv_dereg_mr", c.mr.destroy());
  expect_denied(j, "Read after ibv_dereg_mr", c.pair, wr, kWord);
}

void stale_rkey_of_write(Judge& j) {
  Changed c(j);
  const ibv_send_wr wr = remote(IBV_WR_RDMA_WRITE, c.memory.get(), c.mr->rkey);
  j.expect("ibv_dereg_mr", c.mr.destroy());
  std::memset(c.pair.a.memory(0), 'x', kWord);
  expect_denied(j, "Write after ibv_dereg_mr", c.pair, wr, kWord);
  j.expect_true("memory", *c.memory == 0, "unchanged");
}

void stale_lkey(Judge& j) {
  Pair pair(j);
  Mr mr(ibv_reg_mr(pair.a.pd.get(), pair.a.memory(0), kPage, +IBV_ACCESS_LOCAL_WRITE));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  ibv_sge sge{.addr = pair.a.address(), .length = kWord, .lkey = mr->lkey};
  j.expect("ibv_dereg_mr", mr.destroy());
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kWord));
  j.require("ibv_post_send", post(pair.a, pair.a.request(2, IBV_WR_SEND, pair.b), {sge}));
  expect_completion(j, "Send by a key of a region that is gone", pair.a.send_cq,
                    {IBV_WC_LOC_PROT_ERR});
}

void under_receive(Judge& j) {
  Pair pair(j);
  const Pages memory = pages();
  Mr mr(ibv_reg_mr(pair.b.pd.get(), memory.get(), kPage, +IBV_ACCESS_LOCAL_WRITE));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  ibv_sge sge{
      .addr = reinterpret_cast<std::uintptr_t>(memory.get()), .length = kWord, .lkey = mr->lkey};
  j.require("ibv_post_recv", receive(pair.b, 1, {sge}));
  j.expect("ibv_dereg_mr of the memory of a receive", mr.destroy());
  std::memset(pair.a.memory(0), 'x', kWord);
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, kWord));
  expect_completion(j, "completion of the receive", pair.b.recv_cq, {IBV_WC_LOC_PROT_ERR});
  j.expect_true("memory", *memory == 0, "unchanged");
  if (!j.is_iwarp()) {
    expect_completion(j, "completion of the Send", pair.a.send_cq, {IBV_WC_REM_OP_ERR});
  }
}

// A device may refuse the Send. If it sends, it has read the memory before ibv_dereg_mr() returned.
void after_post(Judge& j) {
  Pair pair(j);
  const Pages memory = pages();
  std::strcpy(memory.get(), "before");
  Mr mr(ibv_reg_mr(pair.a.pd.get(), memory.get(), kPage, 0));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kWord));
  ibv_sge sge{
      .addr = reinterpret_cast<std::uintptr_t>(memory.get()), .length = kWord, .lkey = mr->lkey};
  j.require("ibv_post_send", post(pair.a, pair.a.request(2, IBV_WR_SEND, pair.b), {sge}));
  j.expect("ibv_dereg_mr after ibv_post_send", mr.destroy());
  std::strcpy(memory.get(), "after");
  const ibv_wc wc = expect_completion(j, "completion of the Send", pair.a.send_cq,
                                      {IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR});
  if (wc.status != IBV_WC_SUCCESS) return;
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_text("payload", pair.b.memory(0), {"before"});
}

void qp_remains(Judge& j) {
  Changed c(j);
  j.expect("ibv_dereg_mr", c.mr.destroy());
  expect_done(j, "Read from another region", c.pair,
              c.pair.a.request(3, IBV_WR_RDMA_READ, c.pair.b), kWord);
}

constexpr int kMove = IBV_REREG_MR_CHANGE_TRANSLATION;

// clang-format off
constexpr Case kCases[] = {
    {"mr/rereg/grants", "IBV-163 IBV-169", "adds an access right with ibv_rereg_mr()", grants},
    {"mr/rereg/revokes", "IBV-163 IBV-164", "revokes an access right with ibv_rereg_mr()", revokes},
    {"mr/rereg/domain", "IBV-162 IBV-169", "moves a region to another protection domain with ibv_rereg_mr()", moves_pd},
    {"mr/rereg/memory", "IBV-161", "moves a region to other memory with ibv_rereg_mr()", moves_memory},
    {"mr/rereg/unknown-flag", "IBV-160 IBV-165", "refuses an unknown flag of ibv_rereg_mr()", refused_input<1 << 12, true, kPage, 0>},
    {"mr/rereg/address-null", "IBV-160 IBV-165", "refuses to move a region to address 0", refused_input<kMove, false, kPage, 0>},
    {"mr/rereg/length-zero", "IBV-160 IBV-165", "refuses to move a region to memory of length 0", refused_input<kMove, true, 0, 0>},
    {"mr/rereg/access-without-flag", "IBV-160 IBV-165", "refuses new access rights without IBV_REREG_MR_CHANGE_ACCESS", refused_input<IBV_REREG_MR_CHANGE_PD, false, 0, IBV_ACCESS_LOCAL_WRITE>},
    {"mr/rereg/rights", "IBV-160 IBV-166 IBV-168", "refuses remote write without local write in ibv_rereg_mr()", refused_rights},

    {"mr/dereg/remote-read", "IBV-147", "refuses a Read with the rkey of a deregistered region", stale_rkey},
    {"mr/dereg/remote-write", "IBV-147 IBV-327", "refuses a Write with the rkey of a deregistered region", stale_rkey_of_write},
    {"mr/dereg/send", "IBV-147", "does not send with the lkey of a deregistered region", stale_lkey},
    {"mr/dereg/receive", "IBV-147 IBV-316", "does not receive into a deregistered region", under_receive},
    {"mr/dereg/after-post", "IBV-147", "does not read the memory of a region after ibv_dereg_mr()", after_post},
    {"mr/dereg/others", "IBV-154", "keeps a region valid when another one is deregistered", qp_remains},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::memory_changes

iwarp::judge::Table iwarp::judge::memory_changes_cases() { return memory_changes::kCases; }
