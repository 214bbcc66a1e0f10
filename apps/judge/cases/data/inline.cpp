// SPDX-License-Identifier: Apache-2.0
// Cases about IBV_SEND_INLINE: its limit, and when the device reads the memory.
#include <cstring>
#include <vector>

#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::data_inline {
namespace {

constexpr std::uint32_t kInline = 32;

/// Returns the largest inline data of the queue pair.
std::uint32_t limit_of(Judge& j, const End& end) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  j.require("ibv_query_qp", errno_of(ibv_query_qp(end.qp.get(), &attr, IBV_QP_CAP, &init)));
  return init.cap.max_inline_data;
}

int post_inline(End& end, ibv_send_wr wr, std::vector<ibv_sge> sges) {
  wr.send_flags |= IBV_SEND_INLINE;
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  ibv_send_wr* bad = nullptr;
  return errno_of(ibv_post_send(end.qp.get(), &wr, &bad));
}

/// An SGE of memory that is not registered.
ibv_sge unregistered(const char* text, std::uint32_t length) {
  return {.addr = reinterpret_cast<std::uintptr_t>(text), .length = length, .lkey = 0};
}

void at_limit(Judge& j) {
  Pair pair(j, with_inline(kInline), {});
  const std::uint32_t most = limit_of(j, pair.a);
  j.expect_true("max_inline_data", most >= kInline, "at least the requested one");
  std::vector<char> data(most + 1, 'x');
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, most + 1));
  const ibv_send_wr wr = pair.a.request(2, IBV_WR_SEND, pair.b);
  j.expect("ibv_post_send of max_inline_data + 1 bytes",
           post_inline(pair.a, wr, {unregistered(data.data(), most + 1)}),
           {EINVAL, ENOMEM, EMSGSIZE});
  j.require("ibv_post_send of max_inline_data bytes",
            post_inline(pair.a, wr, {unregistered(data.data(), most)}));
  expect_completion(j, "completion of the Send", pair.a.send_cq);
  const ibv_wc wc = expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_true("byte_len", wc.byte_len == most, "max_inline_data");
}

void overwritten(Judge& j) {
  Pair pair(j, with_inline(kInline), {});
  char text[kInline] = "before";
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kInline));
  j.require("ibv_post_send", post_inline(pair.a, pair.a.request(2, IBV_WR_SEND, pair.b),
                                         {unregistered(text, kInline)}));
  std::strcpy(text, "after");
  expect_completion(j, "completion of the Send", pair.a.send_cq);
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_text("payload", pair.b.memory(0), {"before"});
}

void two_sges(Judge& j) {
  Pair pair(j, with_inline(kInline), {});
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, kInline));
  j.require("ibv_post_send", post_inline(pair.a, pair.a.request(2, IBV_WR_SEND, pair.b),
                                         {unregistered("one", 3), unregistered("two", 4)}));
  expect_completion(j, "completion of the Send", pair.a.send_cq);
  const ibv_wc wc = expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_equal("byte_len", wc.byte_len, 7);
  j.expect_text("payload", pair.b.memory(0), {"onetwo"});
}

void write(Judge& j) {
  Pair pair(j, with_inline(kInline), {});
  j.require("ibv_post_recv", pair.b.post_recv(1));
  ibv_send_wr wr = pair.a.request(2, IBV_WR_RDMA_WRITE, pair.b, 100);
  j.require("ibv_post_send of the Write", post_inline(pair.a, wr, {unregistered("text", 5)}));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(3, IBV_WR_SEND, pair.b)));
  expect_completion(j, "completion of the Write", pair.a.send_cq);
  expect_completion(j, "completion of the Send", pair.a.send_cq);
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_text("payload", pair.b.memory(100), {"text"});
}

void too_large(Judge& j) {
  End end(j);
  ibv_qp_init_attr init{};
  init.send_cq = end.send_cq.get();
  init.recv_cq = end.recv_cq.get();
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = 1,
              .max_recv_wr = 1,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 1U << 30};
  Qp qp(ibv_create_qp(end.pd.get(), &init));
  j.expect("ibv_create_qp with 1 GiB of inline data", errno_of(qp.get()), {EINVAL, ENOMEM});
}

// clang-format off
constexpr Case kCases[] = {
    {"inline/limit", "IBV-387 IBV-527", "sends inline data up to max_inline_data", at_limit},
    {"inline/overwritten", "IBV-526", "reads inline data before ibv_post_send() returns", overwritten},
    {"inline/two-sges", "IBV-387 IBV-507", "sends inline data from two SGEs", two_sges},
    {"inline/write", "IBV-528", "executes a Write with inline data", write},
    {"inline/too-large", "IBV-388", "refuses a queue pair with 1 GiB of inline data", too_large},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_inline

iwarp::judge::Table iwarp::judge::data_inline_cases() { return data_inline::kCases; }
