// SPDX-License-Identifier: Apache-2.0
// Cases about registering memory: rights, addresses, lengths and keys.
// changes.cpp has those about changing and deregistering a region.
#include <sys/mman.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::memory_regions {
namespace {

constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
constexpr int kWrite = IBV_ACCESS_REMOTE_WRITE;
constexpr int kRead = IBV_ACCESS_REMOTE_READ;
constexpr int kAtomic = IBV_ACCESS_REMOTE_ATOMIC;
constexpr int kBind = IBV_ACCESS_MW_BIND;
constexpr std::uint32_t kWord = 8;

// Rights at registration ------------------------------------------------------------------------

template <int rights, int code>
void registers(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  const Pages memory = pages();
  Mr mr(ibv_reg_mr(pd.get(), memory.get(), kPage, rights));
  j.expect("ibv_reg_mr", errno_of(mr.get()), {code});
}

void registers_atomic(Judge& j) { registers<kLocal | kAtomic, 0>(j); }

void registers_unknown(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  const Pages memory = pages();
  constexpr unsigned kUnknown = 1U << 15;  // below the range of optional flags
  Mr mr(ibv_reg_mr_iova2(pd.get(), memory.get(), kPage,
                         reinterpret_cast<std::uintptr_t>(memory.get()), kUnknown));
  j.expect("ibv_reg_mr with an unknown flag", errno_of(mr.get()), {EINVAL, EOPNOTSUPP});
}

void registers_optional(Judge& j) {
  constexpr unsigned kOptional = 1U << 29;  // the last flag of the optional range
  Pd pd(ibv_alloc_pd(j.context()));
  const Pages memory = pages();
  Mr mr(ibv_reg_mr_iova2(pd.get(), memory.get(), kPage,
                         reinterpret_cast<std::uintptr_t>(memory.get()), kLocal | kOptional));
  j.expect("ibv_reg_mr with an optional flag", errno_of(mr.get()));
}

void registers_on_demand(Judge& j) {
  ibv_device_attr_ex ex{};
  ibv_query_device_ex(j.context(), nullptr, &ex);
  Pd pd(ibv_alloc_pd(j.context()));
  const Pages memory = pages();
  Mr mr(ibv_reg_mr(pd.get(), memory.get(), kPage, +IBV_ACCESS_ON_DEMAND));
  const bool is_offered = (ex.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0;
  if (is_offered) {
    j.expect("ibv_reg_mr with IBV_ACCESS_ON_DEMAND", errno_of(mr.get()));
  } else {
    j.expect("ibv_reg_mr with IBV_ACCESS_ON_DEMAND, not offered", errno_of(mr.get()),
             {EINVAL, EOPNOTSUPP});
  }
}

// Rights in use ---------------------------------------------------------------------------------

/// A request for a region of `b` with the given rights.
template <int rights, ibv_wr_opcode opcode, bool is_allowed>
void used(Judge& j) {
  Pair pair(j);
  const Pages memory = pages();
  std::memset(pair.a.memory(0), 'x', kWord);
  Mr mr(ibv_reg_mr(pair.b.pd.get(), memory.get(), kPage, rights));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  const ibv_send_wr wr = remote(opcode, memory.get(), mr->rkey);
  if (is_allowed) {
    expect_done(j, "the request", pair, wr, kWord);
  } else {
    expect_denied(j, "the request", pair, wr, kWord);
  }
  const bool writes = opcode != IBV_WR_RDMA_READ && is_allowed;
  j.expect_true("memory of the peer", (*memory != 0) == writes, writes ? "changed" : "unchanged");
}

void send_without_rights(Judge& j) {
  Pair pair(j, {.rights = 0, .qp_rights = kAllRights}, {});
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kWord));
  expect_local(j, "Send from a region without rights", pair.a,
               pair.a.request(2, IBV_WR_SEND, pair.b), kWord);
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
}

void receive_without_rights(Judge& j) {
  Pair pair(j, {}, {.rights = IBV_ACCESS_REMOTE_READ, .qp_rights = kAllRights});
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kWord));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, kWord));
  expect_completion(j, "receive into a region without local write", pair.b.recv_cq,
                    {IBV_WC_LOC_PROT_ERR});
  expect_state(j, "state of the receiver", pair.b, IBV_QPS_ERR);
  if (!j.is_iwarp()) {
    expect_completion(j, "completion of the Send", pair.a.send_cq, {IBV_WC_REM_OP_ERR});
  }
}

void read_without_local_write(Judge& j) {
  Pair pair(j, {.rights = IBV_ACCESS_REMOTE_READ, .qp_rights = kAllRights}, {});
  expect_local(j, "Read into a region without local write", pair.a,
               pair.a.request(2, IBV_WR_RDMA_READ, pair.b), kWord, {IBV_WC_LOC_PROT_ERR});
}

// Bounds ----------------------------------------------------------------------------------------

constexpr std::uint32_t kMiddle = 1024;  // the region of the cases below: [kMiddle, 2 * kMiddle)

template <ibv_wr_opcode opcode, std::uint32_t from, std::uint32_t length, bool is_allowed>
void bounds(Judge& j) {
  Pair pair(j);
  const Pages memory = pages();
  std::memset(pair.a.memory(0), 'x', length);
  Mr mr(ibv_reg_mr(pair.b.pd.get(), memory.get() + kMiddle, kMiddle, kAllRights));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  const ibv_send_wr wr = remote(opcode, memory.get() + from, mr->rkey);
  if (is_allowed) return expect_done(j, "the request", pair, wr, length);
  expect_denied(j, "the request", pair, wr, length);
  bool unchanged = true;
  for (std::size_t i = 0; i < kPage; ++i) {
    const bool is_inside = i >= kMiddle && i < 2 * kMiddle;
    if (!is_inside) unchanged &= memory.get()[i] == 0;
  }
  j.expect_true("memory outside of the region", unchanged, "unchanged");
}

template <std::uint32_t from, std::uint32_t length>
void local_bounds(Judge& j) {
  Pair pair(j);
  Mr mr(ibv_reg_mr(pair.a.pd.get(), pair.a.memory(kMiddle), kMiddle, kLocal));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kPage));
  ibv_sge sge{.addr = pair.a.address(from), .length = length, .lkey = mr->lkey};
  j.require("ibv_post_send", post(pair.a, pair.a.request(2, IBV_WR_SEND, pair.b), {sge}));
  expect_completion(j, "Send from outside of the region", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
}

// Addresses and lengths -------------------------------------------------------------------------

int error_of(Judge& j, void* address, std::size_t length, int rights) {
  Pd pd(ibv_alloc_pd(j.context()));
  Mr mr(ibv_reg_mr(pd.get(), address, length, rights));
  return errno_of(mr.get());
}

void length_zero(Judge& j) {
  const Pages memory = pages();
  j.expect("ibv_reg_mr of 0 bytes at a page boundary", error_of(j, memory.get(), 0, kLocal),
           {EINVAL});
}

void length_wraps(Judge& j) {
  auto* const last = reinterpret_cast<void*>(~std::uintptr_t{kPage - 1});  // NOLINT: no object
  j.expect("ibv_reg_mr up to an address above 2^64", error_of(j, last, 2 * kPage, kLocal),
           {EINVAL});
}

/// Maps two pages at an address that the kernel does not choose, so that a page that the case
/// unmaps is not used for something else.
void* map(Judge& j, int protection) {
  auto* const place = reinterpret_cast<void*>(std::uintptr_t{0x1000'0000});  // NOLINT: no object
  void* const at = ::mmap(place, 2 * kPage, protection,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  j.require("mmap", at == MAP_FAILED ? errno : 0);
  return at;
}

void unmapped(Judge& j) {
  char* const at = static_cast<char*>(map(j, PROT_READ | PROT_WRITE));
  ::munmap(at + kPage, kPage);
  j.expect("ibv_reg_mr of a page that is not mapped", error_of(j, at + kPage, kPage, kLocal),
           {EFAULT});
  j.expect("ibv_reg_mr whose second page is not mapped", error_of(j, at, 2 * kPage, kLocal),
           {EFAULT});
  j.expect("ibv_reg_mr of the page that is mapped", error_of(j, at, kPage, kLocal));
}

void read_only(Judge& j) {
  void* const at = map(j, PROT_READ);
  j.expect("ibv_reg_mr of a page that is not writable, with local write",
           error_of(j, at, kPage, kLocal), {EFAULT});
  j.expect("ibv_reg_mr of a page that is not writable, without", error_of(j, at, kPage, 0));
}

// Keys ------------------------------------------------------------------------------------------

void fields(Judge& j) {
  Pd pd(ibv_alloc_pd(j.context()));
  const Pages memory = pages();
  Mr mr(ibv_reg_mr(pd.get(), memory.get() + 10, 100, kLocal));
  j.require("ibv_reg_mr", errno_of(mr.get()));
  j.expect_true("context", mr->context == j.context(), "that of the domain");
  j.expect_true("pd", mr->pd == pd.get(), "that of the call");
  j.expect_true("addr", mr->addr == memory.get() + 10, "that of the call");
  j.expect_equal("length", mr->length, 100);
}

void twice(Judge& j) {
  Pair pair(j);
  Mr other(ibv_reg_mr(pair.b.pd.get(), pair.b.memory(0), kPage, kAllRights));
  j.require("ibv_reg_mr of the same memory again", errno_of(other.get()));
  j.expect_true("lkey", other->lkey != pair.b.mr->lkey, "a key for each region");
  j.expect_true("rkey", other->rkey != pair.b.mr->rkey, "a key for each region");
  expect_done(j, "Read by the second key", pair,
              remote(IBV_WR_RDMA_READ, pair.b.address(), other->rkey), kWord);
  j.expect("ibv_dereg_mr of the second region", other.destroy());
  expect_done(j, "Read by the first key", pair, pair.a.request(3, IBV_WR_RDMA_READ, pair.b), kWord);
}

template <std::uint32_t flip>
void wrong_rkey(Judge& j) {
  Pair pair(j);
  expect_denied(j, "Read by a wrong key", pair,
                remote(IBV_WR_RDMA_READ, pair.b.address(), pair.b.mr->rkey ^ flip), kWord);
}

void foreign_rkey(Judge& j) {
  Pair pair(j);
  expect_denied(j, "Read by a key of another domain", pair,
                remote(IBV_WR_RDMA_READ, pair.a.address(), pair.a.mr->rkey), kWord);
}

void foreign_lkey(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kWord));
  // A region of the same memory, so that only its domain is wrong.
  Mr foreign(ibv_reg_mr(pair.b.pd.get(), pair.a.memory(), kPage, kAllRights));
  j.require("ibv_reg_mr in another domain", errno_of(foreign.get()));
  std::swap(pair.a.mr, foreign);
  expect_local(j, "Send by a key of another domain", pair.a, pair.a.request(2, IBV_WR_SEND, pair.b),
               kWord, {IBV_WC_LOC_PROT_ERR});
  std::swap(pair.a.mr, foreign);
}

// Virtual addresses -----------------------------------------------------------------------------

constexpr std::uint64_t kIova = std::uint64_t{0x5A} << 32;

template <std::uint64_t iova, int flag>
void at_iova(Judge& j) {
  Pair pair(j);
  const Pages memory = pages();
  std::strcpy(memory.get() + kMiddle, "there");
  const int rights = kAllRights | IBV_ACCESS_RELAXED_ORDERING | flag;
  Mr mr(flag != 0 ? ibv_reg_mr(pair.b.pd.get(), memory.get(), kPage, rights)
                  : ibv_reg_mr_iova(pair.b.pd.get(), memory.get(), kPage, iova, rights));
  j.require("registration", errno_of(mr.get()));
  expect_done(j, "Read at the virtual address", pair,
              remote(IBV_WR_RDMA_READ, iova + kMiddle, mr->rkey), kWord);
  j.expect_text("payload", pair.a.memory(0), {"there"});
  expect_denied(j, "Read at the address of the memory", pair,
                remote(IBV_WR_RDMA_READ, memory.get(), mr->rkey), kWord);
}

void iova_of_sge(Judge& j) {
  Pair pair(j);
  const Pages memory = pages();
  std::strcpy(memory.get(), "here");
  Mr mr(ibv_reg_mr_iova(pair.a.pd.get(), memory.get(), kPage, kIova, kLocal));
  j.require("ibv_reg_mr_iova", errno_of(mr.get()));
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kWord));
  ibv_sge sge{.addr = kIova, .length = kWord, .lkey = mr->lkey};
  j.require("ibv_post_send", post(pair.a, pair.a.request(2, IBV_WR_SEND, pair.b), {sge}));
  expect_completion(j, "Send from the virtual address", pair.a.send_cq);
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_text("payload", pair.b.memory(0), {"here"});
}

constexpr ibv_wr_opcode kWriteIt = IBV_WR_RDMA_WRITE;
constexpr ibv_wr_opcode kReadIt = IBV_WR_RDMA_READ;
constexpr ibv_wr_opcode kAddToIt = IBV_WR_ATOMIC_FETCH_AND_ADD;
constexpr ibv_wr_opcode kSwapIt = IBV_WR_ATOMIC_CMP_AND_SWP;

// clang-format off
constexpr Case kCases[] = {
    {"mr/rights/none", "IBV-130", "registers memory with access 0", registers<0, 0>},
    {"mr/rights/local-write", "IBV-128", "registers memory with local write", registers<kLocal, 0>},
    {"mr/rights/remote-read", "IBV-128", "registers memory with remote read alone", registers<kRead, 0>},
    {"mr/rights/bind", "IBV-136", "registers memory with IBV_ACCESS_MW_BIND", registers<kBind, 0>, kWindow2},
    {"mr/rights/all", "IBV-128", "registers memory with local write, remote read and remote write", registers<kLocal | kWrite | kRead, 0>},
    {"mr/rights/atomic", "IBV-128", "registers memory with local write and remote atomic", registers_atomic, kAtomics},
    {"mr/rights/remote-write-alone", "IBV-138", "refuses to register memory with remote write but without local write", registers<kWrite, EINVAL>},
    {"mr/rights/remote-write-and-read", "IBV-138", "refuses to register memory with remote write and read but without local write", registers<kWrite | kRead, EINVAL>},
    {"mr/rights/remote-atomic-alone", "IBV-138", "refuses to register memory with remote atomic but without local write", registers<kAtomic, EINVAL>},
    {"mr/rights/unknown", "IBV-140", "refuses an access flag that does not exist", registers_unknown},
    {"mr/rights/optional", "IBV-140", "ignores an unknown flag in IBV_ACCESS_OPTIONAL_RANGE", registers_optional},
    {"mr/rights/on-demand", "IBV-57 IBV-142", "supports IBV_ACCESS_ON_DEMAND exactly if it reports IBV_ODP_SUPPORT", registers_on_demand},

    {"mr/use/write", "IBV-129", "performs a Write into a region with remote write", used<kLocal | kWrite, kWriteIt, true>},
    {"mr/use/read", "IBV-129", "performs a Read from a region with remote read", used<kRead, kReadIt, true>},
    {"mr/use/add", "IBV-129", "performs an atomic on a region with remote atomic", used<kLocal | kAtomic, kAddToIt, true>, kAtomics},
    {"mr/use/write-denied", "IBV-133 IBV-327", "refuses a Write into a region without remote write", used<kLocal | kRead | kAtomic, kWriteIt, false>},
    {"mr/use/read-denied", "IBV-134", "refuses a Read from a region without remote read", used<kLocal | kWrite | kAtomic, kReadIt, false>},
    {"mr/use/add-denied", "IBV-135", "refuses FetchAdd on a region without remote atomic", used<kLocal | kWrite | kRead, kAddToIt, false>, kAtomics},
    {"mr/use/swap-denied", "IBV-135", "refuses CmpSwap on a region without remote atomic", used<kLocal | kWrite | kRead, kSwapIt, false>, kAtomics},
    {"mr/use/local-write-denied", "IBV-133", "refuses a Write into a region with local write alone", used<kLocal, kWriteIt, false>},
    {"mr/use/local-read-denied", "IBV-134", "refuses a Read from a region with local write alone", used<kLocal, kReadIt, false>},
    {"mr/use/send", "IBV-130", "sends from a region that was registered with access 0", send_without_rights},
    {"mr/use/receive-denied", "IBV-131 IBV-316", "does not receive into a region without local write", receive_without_rights},
    {"mr/use/read-sink-denied", "IBV-132", "does not read into a region without local write", read_without_local_write},

    {"mr/bounds/write-first", "IBV-152", "writes the first byte of a region", bounds<kWriteIt, kMiddle, 1, true>},
    {"mr/bounds/write-last", "IBV-152", "writes the last byte of a region", bounds<kWriteIt, 2 * kMiddle - 1, 1, true>},
    {"mr/bounds/write-all", "IBV-152", "writes a whole region", bounds<kWriteIt, kMiddle, kMiddle, true>},
    {"mr/bounds/write-before", "IBV-151 IBV-320", "refuses a Write that starts before a region", bounds<kWriteIt, kMiddle - 1, 2, false>},
    {"mr/bounds/write-after", "IBV-151 IBV-320", "refuses a Write that ends past a region", bounds<kWriteIt, 2 * kMiddle - 1, 2, false>},
    {"mr/bounds/write-outside", "IBV-151 IBV-320", "refuses a Write that starts at the end of a region", bounds<kWriteIt, 2 * kMiddle, 1, false>},
    {"mr/bounds/write-around", "IBV-151 IBV-320", "refuses a Write that starts before a region and ends past it", bounds<kWriteIt, kMiddle - 1, kMiddle + 2, false>},
    {"mr/bounds/read-all", "IBV-152", "reads a whole region", bounds<kReadIt, kMiddle, kMiddle, true>},
    {"mr/bounds/read-before", "IBV-151 IBV-320", "refuses a Read that starts before a region", bounds<kReadIt, kMiddle - 1, 2, false>},
    {"mr/bounds/read-after", "IBV-151 IBV-320", "refuses a Read that ends past a region", bounds<kReadIt, 2 * kMiddle - 1, 2, false>},
    {"mr/bounds/read-outside", "IBV-151 IBV-320", "refuses a Read that starts at the end of a region", bounds<kReadIt, 2 * kMiddle, 1, false>},
    {"mr/bounds/add-outside", "IBV-151 IBV-320", "refuses an atomic that starts at the end of a region", bounds<kAddToIt, 2 * kMiddle, 8, false>, kAtomics},
    {"mr/bounds/send-before", "IBV-151 IBV-315", "does not send a buffer that starts before its region", local_bounds<kMiddle - 1, 2>},
    {"mr/bounds/send-after", "IBV-151 IBV-315", "does not send a buffer that ends past its region", local_bounds<2 * kMiddle - 1, 2>},

    {"mr/length/zero", "IBV-150", "refuses to register 0 bytes", length_zero},
    {"mr/length/wraps", "IBV-150", "refuses to register a range that ends above 2^64", length_wraps},
    {"mr/address/unmapped", "DDP-103 IBV-149 RDMAP-123 SEC-33", "refuses to register memory that is not mapped", unmapped},
    {"mr/address/read-only", "IBV-149", "refuses to register read-only memory with local write", read_only},

    {"mr/key/fields", "IBV-128 IBV-155", "fills the fields of ibv_mr", fields},
    {"mr/key/twice", "IBV-154 IBV-157", "returns different keys if the same memory is registered twice", twice},
    {"mr/key/low-bit", "IBV-320", "refuses an rkey whose lowest bit is flipped", wrong_rkey<1>},
    {"mr/key/high-bit", "IBV-320", "refuses an rkey whose bit 30 is flipped", wrong_rkey<1U << 30>},
    {"mr/key/foreign-remote", "IBV-127", "refuses an rkey of another protection domain", foreign_rkey},
    {"mr/key/foreign-local", "IBV-126 IBV-315", "does not send with an lkey of another protection domain", foreign_lkey},

    {"mr/iova/remote", "IBV-139 IBV-144", "addresses a region by the iova of ibv_reg_mr_iova()", at_iova<kIova, 0>},
    {"mr/iova/zero", "IBV-145", "addresses a region from 0 if its iova is 0", at_iova<0, 0>},
    {"mr/iova/zero-based", "IBV-137 VRB-29", "addresses a region from 0 with IBV_ACCESS_ZERO_BASED", at_iova<0, IBV_ACCESS_ZERO_BASED>},
    {"mr/iova/local", "IBV-144", "sends from the iova of a region", iova_of_sge},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::memory_regions

iwarp::judge::Table iwarp::judge::memory_regions_cases() { return memory_regions::kCases; }
