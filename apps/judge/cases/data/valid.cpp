// SPDX-License-Identifier: Apache-2.0
// Cases about valid requests of each opcode: the data, and each field of the completions at both
// ends.
#include <arpa/inet.h>
#include <fmt/format.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::data_valid {
namespace {

constexpr std::size_t kRemote = 4096;  ///< where the responder's buffer begins
constexpr std::uint32_t kLength = 100;
constexpr std::uint32_t kLarge = 1 << 20;
constexpr std::uint32_t kImm = 0x01020304;

EndOptions with_memory(std::size_t size) { return {.memory = size}; }

/// Compares the fields of the completion of a successful request.
void expect_request(Judge& j, const End& end, std::uint64_t id, ibv_wc_opcode opcode) {
  const ibv_wc wc = expect_done(j, "the request", end.send_cq, id);
  j.expect_equal("opcode of the request", wc.opcode, opcode);
  j.expect_true("qp_num of the request", wc.qp_num == end.qp->qp_num, "the own number");
}

ibv_wc expect_receive(Judge& j, const End& end, std::uint64_t id, std::uint32_t length,
                      ibv_wc_opcode opcode = IBV_WC_RECV, bool has_imm = false) {
  const ibv_wc wc = expect_done(j, "the receive", end.recv_cq, id);
  j.expect_equal("opcode of the receive", wc.opcode, opcode);
  j.expect_equal("byte_len", wc.byte_len, length);
  j.expect_true("qp_num of the receive", wc.qp_num == end.qp->qp_num, "the own number");
  j.expect_true("IBV_WC_WITH_IMM", ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) == has_imm,
                has_imm ? "set" : "clear");
  return wc;
}

// Sends -------------------------------------------------------------------------------------------

template <std::uint32_t length, ibv_qp_type type = IBV_QPT_RC>
void send(Judge& j) {
  EndOptions options = with_memory(2 * kLarge);
  options.type = type;
  Pair pair(j, options);
  std::memset(pair.a.memory(), 'x', length);
  j.require("ibv_post_recv", pair.b.post_recv(UINT64_MAX - 1, 0, length + 8));
  j.require("ibv_post_send", pair.a.post_send(send_of(UINT64_MAX), 0, length));
  expect_request(j, pair.a, UINT64_MAX, IBV_WC_SEND);
  expect_receive(j, pair.b, UINT64_MAX - 1, length);
  expect_bytes(j, "the message", pair.b.memory(), length, 'x');
  expect_bytes(j, "the buffer after the message", pair.b.memory(length), 8, '\0');
}

// The receive need not have a buffer.
void send_nothing(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv without buffer", receive(pair.b, 1, {}));
  j.require("ibv_post_recv", pair.b.post_recv(2, 0, 8));
  ibv_sge empty = pair.a.sge(0, 0);
  j.require("ibv_post_send without buffer", post(pair.a, send_of(3), {}));
  j.require("ibv_post_send with a buffer of length 0", post(pair.a, send_of(4), {empty}));
  expect_done(j, "Send without buffer", pair.a.send_cq, 3);
  expect_done(j, "Send with a buffer of length 0", pair.a.send_cq, 4);
  for (unsigned i = 1; i <= 2; ++i) {
    const ibv_wc wc = expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
    j.expect_equal(fmt::format("byte_len of receive {}", i), wc.byte_len, 0);
  }
}

// The buffers of both ends have different lengths; the message is their concatenation.
void send_pieces(Judge& j) {
  Pair pair(j);
  std::memset(pair.a.memory(0), 'x', 30);
  std::memset(pair.a.memory(1000), 'y', 20);
  j.require("ibv_post_recv", receive(pair.b, 1, {pair.b.sge(500, 40), pair.b.sge(0, 40)}));
  j.require("ibv_post_send", post(pair.a, send_of(2), {pair.a.sge(0, 30), pair.a.sge(1000, 20)}));
  expect_request(j, pair.a, 2, IBV_WC_SEND);
  expect_receive(j, pair.b, 1, 50);
  expect_bytes(j, "first buffer, first part", pair.b.memory(500), 30, 'x');
  expect_bytes(j, "first buffer, second part", pair.b.memory(530), 10, 'y');
  expect_bytes(j, "second buffer", pair.b.memory(0), 10, 'y');
  expect_bytes(j, "after the message", pair.b.memory(10), 30, '\0');
}

// Buffers of length 0 need no key, and transfer nothing.
void send_with_gaps(Judge& j) {
  EndOptions options;
  options.cap.max_send_sge = options.cap.max_recv_sge = 3;
  Pair pair(j, options);
  std::memset(pair.a.memory(), 'x', 16);
  const ibv_sge gap{.addr = 0, .length = 0, .lkey = 0};
  must(j, "ibv_post_recv", receive(pair.b, 1, {pair.b.sge(0, 4), gap, pair.b.sge(4, 12)}));
  must(j, "ibv_post_send", post(pair.a, send_of(2), {pair.a.sge(0, 8), gap, pair.a.sge(8, 8)}));
  expect_request(j, pair.a, 2, IBV_WC_SEND);
  expect_receive(j, pair.b, 1, 16);
  expect_bytes(j, "the message", pair.b.memory(), 16, 'x');
}

// Only the part of a receive that the message fills must lie in the region.
void receive_beyond(Judge& j) {
  Pair pair(j);
  const std::size_t last = pair.b.options.memory - 8;
  must(j, "ibv_post_recv", receive(pair.b, 1, {pair.b.sge(last, 64)}));
  must(j, "ibv_post_send", pair.a.post_send(send_of(2), 0, 8));
  expect_request(j, pair.a, 2, IBV_WC_SEND);
  expect_receive(j, pair.b, 1, 8);
}

// The buffer may change at once, and needs no key.
template <ibv_wr_opcode opcode>
void inline_data(Judge& j) {
  Pair pair(j, with_inline(32));
  std::array<char, 32> own{};
  own.fill('x');
  ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(own.data()), .length = 32, .lkey = 0};
  j.require("ibv_post_recv", pair.b.post_recv(1, kRemote, 64));
  auto wr = pair.a.request(2, opcode, pair.b, kRemote);
  wr.send_flags |= IBV_SEND_INLINE;
  j.require("ibv_post_send", post(pair.a, wr, {sge}));
  own.fill('y');
  expect_done(j, "the request", pair.a.send_cq, 2);
  if (opcode == IBV_WR_RDMA_WRITE) {
    j.require("ibv_post_send after the Write", pair.a.post_send(send_of(3), 8, 1));
    expect_done(j, "the Send after the Write", pair.a.send_cq, 3);
  }
  expect_done(j, "the receive", pair.b.recv_cq, 1);
  const std::size_t skip = opcode == IBV_WR_RDMA_WRITE ? 1 : 0;  // the Send overwrote one byte
  expect_bytes(j, "the data", pair.b.memory(kRemote + skip), 32 - skip, 'x');
}

template <std::uint32_t imm, std::uint32_t length>
void send_imm(Judge& j) {
  Pair pair(j);
  std::memset(pair.a.memory(), 'x', kLength);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kLength));
  auto wr = send_of(2);
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = ::htonl(imm);
  j.require("ibv_post_send", pair.a.post_send(wr, 0, length));
  expect_request(j, pair.a, 2, IBV_WC_SEND);
  const ibv_wc wc = expect_receive(j, pair.b, 1, length, IBV_WC_RECV, true);
  j.expect_equal("imm_data", ::ntohl(wc.imm_data), imm);
  expect_bytes(j, "the message", pair.b.memory(), length, 'x');
}

void send_to_srq(Judge& j) {
  Pair pair(j, {.has_srq = true});
  for (unsigned i = 0; i < 2; ++i) {
    must(j, "ibv_post_srq_recv", pair.b.post_recv(i, 64UL * i, 64));
  }
  for (unsigned i = 0; i < 2; ++i) {
    must(j, "ibv_post_send", pair.a.post_send(send_of(i), 0, 8));
    const ibv_wc wc = expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
    j.expect_true(fmt::format("qp_num of receive {}", i), wc.qp_num == pair.b.qp->qp_num,
                  "the number of the queue pair");
  }
}

// Writes ------------------------------------------------------------------------------------------

template <std::uint32_t length, ibv_qp_type type = IBV_QPT_RC>
void write(Judge& j) {
  EndOptions options = with_memory(2 * kLarge);
  options.type = type;
  Pair pair(j, options);
  std::memset(pair.a.memory(), 'x', length);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 8));
  j.require("ibv_post_send, the Write",
            pair.a.post_send(pair.a.request(2, IBV_WR_RDMA_WRITE, pair.b, kRemote), 0, length));
  j.require("ibv_post_send, a Send", pair.a.post_send(send_of(3), 0, 8));
  expect_request(j, pair.a, 2, IBV_WC_RDMA_WRITE);
  expect_done(j, "the Send", pair.a.send_cq, 3);
  expect_done(j, "only the Send consumes a receive", pair.b.recv_cq, 1);
  expect_empty(j, "no other receive", pair.b.recv_cq);
  expect_bytes(j, "the data", pair.b.memory(kRemote), length, 'x');
  expect_bytes(j, "before the data", pair.b.memory(kRemote - 8), 8, '\0');
  expect_bytes(j, "after the data", pair.b.memory(kRemote + length), 8, '\0');
}

// Without data, the key is not used (IBTA vol. 1, 9.7.4.1.6 and RFC 5040).
template <ibv_wr_opcode opcode>
void empty_without_key(Judge& j) {
  Pair pair(j);
  auto wr = pair.a.request(1, opcode, pair.b);
  wr.wr.rdma = {.remote_addr = 0, .rkey = 0};
  j.require("ibv_post_send", post(pair.a, wr, {}));
  expect_done(j, "the request", pair.a.send_cq, 1);
  expect_same_state(j, "the request", pair.b, IBV_QPS_RTS);
}

template <std::uint32_t length>
void write_imm(Judge& j) {
  Pair pair(j);
  std::memset(pair.a.memory(), 'x', kLength);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 8));
  auto wr = pair.a.request(2, IBV_WR_RDMA_WRITE_WITH_IMM, pair.b, kRemote);
  wr.imm_data = ::htonl(kImm);
  j.require("ibv_post_send", pair.a.post_send(wr, 0, length));
  expect_request(j, pair.a, 2, IBV_WC_RDMA_WRITE);
  const ibv_wc wc = expect_receive(j, pair.b, 1, length, IBV_WC_RECV_RDMA_WITH_IMM, true);
  j.expect_equal("imm_data", ::ntohl(wc.imm_data), kImm);
  expect_bytes(j, "the data", pair.b.memory(kRemote), length, 'x');
  expect_bytes(j, "the buffer of the receive", pair.b.memory(), 8, '\0');
}

// A receive without buffer serves a Write with immediate data of any length.
void write_imm_without_buffer(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", receive(pair.b, 1, {}));
  auto wr = pair.a.request(2, IBV_WR_RDMA_WRITE_WITH_IMM, pair.b, kRemote);
  j.require("ibv_post_send", pair.a.post_send(wr, 0, kLength));
  expect_receive(j, pair.b, 1, kLength, IBV_WC_RECV_RDMA_WITH_IMM, true);
}

// Reads and atomics -------------------------------------------------------------------------------

template <std::uint32_t length>
void read(Judge& j) {
  Pair pair(j, with_memory(2 * kLarge));
  std::memset(pair.b.memory(kRemote), 'x', length);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 8));
  const auto wr = pair.a.request(2, IBV_WR_RDMA_READ, pair.b, kRemote);
  j.require("ibv_post_send", post(pair.a, wr, {pair.a.sge(0, length)}));
  const ibv_wc wc = expect_done(j, "the Read", pair.a.send_cq, 2);
  j.expect_equal("opcode", wc.opcode, IBV_WC_RDMA_READ);
  j.expect_equal("byte_len", wc.byte_len, length);
  expect_bytes(j, "the data", pair.a.memory(), length, 'x');
  expect_bytes(j, "after the data", pair.a.memory(length), 8, '\0');
  expect_empty(j, "a Read consumes no receive", pair.b.recv_cq);
}

void read_pieces(Judge& j) {
  if (j.attributes().max_sge_rd < 2) j.not_applicable("max_sge_rd is below 2");
  Pair pair(j);
  std::memset(pair.b.memory(kRemote), 'x', 30);
  std::memset(pair.b.memory(kRemote + 30), 'y', 20);
  j.require("ibv_post_send", post(pair.a, pair.a.request(2, IBV_WR_RDMA_READ, pair.b, kRemote),
                                  {pair.a.sge(100, 30), pair.a.sge(0, 20)}));
  expect_request(j, pair.a, 2, IBV_WC_RDMA_READ);
  expect_bytes(j, "the first buffer", pair.a.memory(100), 30, 'x');
  expect_bytes(j, "the second buffer", pair.a.memory(), 20, 'y');
}

// More Reads than max_rd_atomic are posted: the device starts them as earlier ones are answered.
void many_reads(Judge& j) {
  Pair pair(j, {.reads = 1});
  constexpr unsigned kCount = 16;
  for (unsigned i = 0; i < kCount; ++i) {
    pair.b.memory(kRemote)[i] = static_cast<char>('A' + i);
    const auto wr = pair.a.request(i, IBV_WR_RDMA_READ, pair.b, kRemote + i);
    must(j, "ibv_post_send", pair.a.post_send(wr, i, 1));
  }
  for (unsigned i = 0; i < kCount; ++i) {
    expect_done(j, fmt::format("Read {}", i), pair.a.send_cq, i);
  }
  j.expect_true("the data", std::memcmp(pair.a.memory(), pair.b.memory(kRemote), kCount) == 0,
                "16 bytes in order");
}

constexpr std::uint64_t kOld = 0x1122334455667788;

template <ibv_wr_opcode opcode, std::uint64_t compare_add, std::uint64_t swap, std::uint64_t after>
void atomic(Judge& j) {
  Pair pair(j);
  std::memcpy(pair.b.memory(kRemote), &kOld, sizeof kOld);
  auto wr = pair.a.request(1, opcode, pair.b, kRemote);
  wr.wr.atomic.compare_add = compare_add;
  wr.wr.atomic.swap = swap;
  j.require("ibv_post_send", pair.a.post_send(wr, 0, 8));
  const ibv_wc wc = expect_done(j, "the request", pair.a.send_cq, 1);
  j.expect_equal("opcode", wc.opcode,
                 opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
  j.expect_equal("byte_len", wc.byte_len, 8);
  std::uint64_t value = 0;
  std::memcpy(&value, pair.a.memory(), sizeof value);
  j.expect_equal("the returned value", value, kOld);
  std::memcpy(&value, pair.b.memory(kRemote), sizeof value);
  j.expect_equal("the value in memory", value, after);
}

// Windows -----------------------------------------------------------------------------------------

ibv_send_wr bind_of(const End& end, const Mw& window, std::uint64_t id) {
  ibv_send_wr wr{.wr_id = id, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
  wr.bind_mw = {.mw = window.get(),
                .rkey = ibv_inc_rkey(window->rkey),
                .bind_info = {.mr = end.mr.get(),
                              .addr = end.address(kRemote),
                              .length = kLength,
                              .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
  return wr;
}

EndOptions with_windows() {
  return {.rights = kAllRights | IBV_ACCESS_MW_BIND, .qp_rights = kAllRights};
}

// Bind, Write, invalidate by a request of this or of the other end, Write again.
template <ibv_wr_opcode by>
void window(Judge& j) {
  Pair pair(j, with_windows());
  const Mw window(ibv_alloc_mw(pair.b.pd.get(), IBV_MW_TYPE_2));
  j.require("ibv_alloc_mw", errno_of(window.get()));
  const auto bind = bind_of(pair.b, window, 1);
  j.require("ibv_post_send, the bind", post(pair.b, bind, {}));
  expect_request(j, pair.b, 1, IBV_WC_BIND_MW);
  auto write = pair.a.request(2, IBV_WR_RDMA_WRITE, pair.b, kRemote);
  write.wr.rdma.rkey = bind.bind_mw.rkey;
  j.require("ibv_post_send, a Write", pair.a.post_send(write, 0, kLength));
  expect_done(j, "the Write", pair.a.send_cq, 2);
  ibv_send_wr invalidate = send_of(3);
  invalidate.opcode = by;
  invalidate.invalidate_rkey = bind.bind_mw.rkey;
  if (by == IBV_WR_LOCAL_INV) {
    j.require("ibv_post_send, the invalidation", post(pair.b, invalidate, {}));
    const ibv_wc wc = expect_done(j, "the invalidation", pair.b.send_cq, 3);
    j.expect_equal("opcode of the invalidation", wc.opcode, IBV_WC_LOCAL_INV);
  } else {
    j.require("ibv_post_recv", pair.b.post_recv(4, 0, 8));
    j.require("ibv_post_send, the Send", pair.a.post_send(invalidate, 0, 8));
    expect_done(j, "the Send", pair.a.send_cq, 3);
    const ibv_wc wc = expect_done(j, "the receive", pair.b.recv_cq, 4);
    j.expect_true("IBV_WC_WITH_INV", (wc.wc_flags & IBV_WC_WITH_INV) != 0, "set");
    j.expect_true("invalidated_rkey", wc.invalidated_rkey == bind.bind_mw.rkey, "the key");
  }
  j.require("ibv_post_send, a Write after it", pair.a.post_send(write, 0, kLength));
  expect_state(j, "state after access to an invalid window", pair.b, IBV_QPS_ERR);
}

constexpr auto kCas = IBV_WR_ATOMIC_CMP_AND_SWP;
constexpr auto kFaa = IBV_WR_ATOMIC_FETCH_AND_ADD;
constexpr auto kNew = std::uint64_t{0xAABBCCDDEEFF0011};

// clang-format off
constexpr Case kCases[] = {
    {"data/send/one-byte", "IBV-274 IBV-275 IBV-278 IBV-279 IBV-280 IBV-283 IBV-286 IBV-503", "delivers a Send", send<1>},
    {"data/send/plain", "IBV-278 IBV-279 IBV-280 IBV-540", "delivers a Send, and keeps the memory past the message unchanged", send<kLength>},
    {"data/send/large", "IBV-280 IBV-508", "delivers a Send of 1 MiB", send<kLarge>},
    {"data/send/uc", "IBV-504", "delivers a Send", send<kLength, IBV_QPT_UC>, kByHand | kUc},
    {"data/send/nothing", "IBV-509 IBV-539 IBV-543", "delivers each Send of length 0 to a receive of its own", send_nothing},
    {"data/send/pieces", "IBV-507 IBV-508", "gathers a message from two buffers and scatters it over two others", send_pieces},
    {"data/send/gaps", "IBV-543 IBV-544", "skips buffers of length 0", send_with_gaps},
    {"data/receive/room-beyond", "IBV-326", "delivers a message into a receive that exceeds its region, if the message fits into the region", receive_beyond},
    {"data/send/inline", "IBV-526 IBV-527", "copies inline data in ibv_post_send(), and ignores the L_Key", inline_data<IBV_WR_SEND>},
    {"data/send/to-srq", "IBV-367 IBV-371 IBV-372", "consumes the receives of an SRQ in order", send_to_srq, kSrq},
    {"data/send-imm/plain", "IBV-279 IBV-282 IBV-510", "delivers immediate data with a Send", send_imm<kImm, kLength>, kByHand},
    {"data/send-imm/all-bits", "IBV-279 IBV-282 IBV-510", "delivers immediate data 0xFFFFFFFF", send_imm<UINT32_MAX, 8>, kByHand},
    {"data/send-imm/zero", "IBV-279 IBV-282 IBV-510", "delivers immediate data 0", send_imm<0, 8>, kByHand},
    {"data/send-imm/alone", "IBV-282 IBV-509 IBV-510", "delivers immediate data with a Send of length 0", send_imm<kImm, 0>, kByHand},
    {"data/write/one-byte", "IBV-278 IBV-511", "executes a Write without consuming a receive", write<1>},
    {"data/write/plain", "IBV-278 IBV-511", "executes a Write without consuming a receive", write<kLength>},
    {"data/write/large", "IBV-511", "writes 1 MiB", write<kLarge>},
    {"data/write/uc", "IBV-504 IBV-511", "executes a Write without consuming a receive", write<kLength, IBV_QPT_UC>, kByHand | kUc},
    {"data/write/nothing", "IBV-514", "completes a Write of length 0", write<0>},
    {"data/write/nothing-without-key", "IBV-153 IBV-514", "does not check the key of a Write of length 0", empty_without_key<IBV_WR_RDMA_WRITE>, kByHand},
    {"data/write/inline", "IBV-526 IBV-527", "copies inline data in ibv_post_send(), and ignores the L_Key", inline_data<IBV_WR_RDMA_WRITE>},
    {"data/write-imm/plain", "IBV-279 IBV-280 IBV-282 IBV-510 IBV-512", "executes a Write with immediate data, and consumes a receive", write_imm<kLength>, kImmediate},
    {"data/write-imm/nothing", "IBV-512", "delivers immediate data with a Write of length 0", write_imm<0>, kImmediate},
    {"data/write-imm/without-buffer", "IBV-512", "delivers a Write with immediate data to a receive without buffers", write_imm_without_buffer, kImmediate},
    {"data/read/one-byte", "IBV-278 IBV-281 IBV-301 IBV-513", "executes a Read without consuming a receive", read<1>},
    {"data/read/plain", "IBV-278 IBV-281 IBV-301 IBV-513", "executes a Read without consuming a receive", read<kLength>},
    {"data/read/large", "IBV-301 IBV-513", "reads 1 MiB", read<kLarge>},
    {"data/read/nothing", "IBV-514", "completes a Read of length 0", read<0>},
    {"data/read/nothing-without-key", "IBV-153 IBV-514", "does not check the key of a Read of length 0", empty_without_key<IBV_WR_RDMA_READ>, kByHand},
    {"data/read/pieces", "IBV-513", "scatters the data of a Read over two buffers", read_pieces},
    {"data/read/many", "IBV-476", "accepts more outstanding Reads than max_rd_atomic", many_reads},
    {"data/compare-swap/equal", "IBV-278 IBV-281 IBV-515", "swaps a word that equals compare_add", atomic<kCas, kOld, kNew, kNew>, kAtomics},
    {"data/compare-swap/different", "IBV-278 IBV-281 IBV-515", "keeps a word that differs from compare_add", atomic<kCas, kOld + 1, kNew, kOld>, kAtomics},
    {"data/fetch-add/plain", "IBV-278 IBV-281 IBV-516", "adds", atomic<kFaa, 7, 0, kOld + 7>, kAtomics},
    {"data/fetch-add/nothing", "IBV-516", "adds 0", atomic<kFaa, 0, 0, kOld>, kAtomics},
    {"data/fetch-add/overflow", "IBV-516", "adds modulo 2^64", atomic<kFaa, UINT64_MAX, 0, kOld - 1>, kAtomics},
    {"data/window/local-invalidate", "IBV-278 IBV-520 IBV-521", "binds a window by IBV_WR_BIND_MW and invalidates it by IBV_WR_LOCAL_INV", window<IBV_WR_LOCAL_INV>, kWindow2},
    {"data/window/send-with-invalidate", "IBV-284 IBV-519 IBV-520", "invalidates the peer's window by IBV_WR_SEND_WITH_INV", window<IBV_WR_SEND_WITH_INV>, kWindow2},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_valid

iwarp::judge::Table iwarp::judge::data_valid_cases() { return data_valid::kCases; }
