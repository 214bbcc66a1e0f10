// SPDX-License-Identifier: Apache-2.0
// Cases about the memory and messages of ids: rdma_reg_*() and rdma_post_*().
#include <array>
#include <cstring>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_messages {
namespace {

constexpr std::uint32_t kNoKey = 0x5555AAAA;

/// Connected ids with memory at each end.
struct Messages : Ids {
  explicit Messages(Judge& j) : Ids(j) {
    connect();
    from = rdma_reg_msgs(client, out.data(), out.size());
    to = rdma_reg_msgs(server, in.data(), in.size());
    must(j, "rdma_reg_msgs", from != nullptr && to != nullptr ? 0 : errno);
  }
  std::uint64_t remote() const { return reinterpret_cast<std::uint64_t>(in.data()); }
  void read(std::uint32_t rkey) {
    must(judge, "rdma_post_read",
         errno_of(rdma_post_read(client, &out, out.data(), 8, from, 0, remote(), rkey)));
  }
  void write(std::uint32_t rkey) {
    must(judge, "rdma_post_write",
         errno_of(rdma_post_write(client, &out, out.data(), 8, from, 0, remote(), rkey)));
  }
  std::array<char, 64> out{"abcdefg"};
  std::array<char, 64> in{};
  ibv_mr* from = nullptr;
  ibv_mr* to = nullptr;
};

void messages(Judge& j) {
  Messages ids(j);
  j.expect_true("domain of the region", ids.from->pd == ids.client->pd, "that of the id");
  int first = 0;
  int second = 0;
  for (int* const context : {&first, &second}) {
    j.require(context == &first ? "first rdma_post_recv" : "second rdma_post_recv",
              errno_of(rdma_post_recv(ids.server, context, ids.in.data(), 64, ids.to)));
  }
  for (int* const context : {&first, &second}) {
    j.require(context == &first ? "first rdma_post_send" : "second rdma_post_send",
              errno_of(rdma_post_send(ids.client, context, ids.out.data(), 3, ids.from, 0)));
  }
  for (int* const context : {&first, &second}) {
    const bool is_first = context == &first;
    const auto wr_id = reinterpret_cast<std::uint64_t>(context);
    ibv_wc wc =
        expect_completion(j, is_first ? "first receive" : "second receive", ids.server->recv_cq);
    j.expect_equal(is_first ? "its byte_len" : "byte_len of the second", wc.byte_len, 3);
    j.expect_true(is_first ? "its wr_id" : "wr_id of the second", wc.wr_id == wr_id, "the context");
    wc = expect_completion(j, is_first ? "first Send" : "second Send", ids.client->send_cq);
    j.expect_true(is_first ? "wr_id of the first Send" : "wr_id of the second Send",
                  wc.wr_id == wr_id, "the context");
  }
}

void lists(Judge& j) {
  Messages ids(j);
  const auto part = [](char* at, std::uint32_t length, const ibv_mr* mr) {
    return ibv_sge{reinterpret_cast<std::uint64_t>(at), length, mr->lkey};
  };
  std::array receive{part(&ids.in[8], 2, ids.to), part(ids.in.data(), 8, ids.to)};
  std::array send{part(&ids.out[4], 2, ids.from), part(ids.out.data(), 2, ids.from)};
  must(j, "rdma_post_recvv", errno_of(rdma_post_recvv(ids.server, nullptr, receive.data(), 2)));
  must(j, "rdma_post_sendv", errno_of(rdma_post_sendv(ids.client, nullptr, send.data(), 2, 0)));
  expect_completion(j, "the receive", ids.server->recv_cq);
  j.expect_text("its first buffer", std::string_view(&ids.in[8], 2), {"ef"});
  j.expect_text("its second buffer", std::string_view(ids.in.data(), 2), {"ab"});
  std::array<ibv_sge, 64> many{};
  many.fill(send[0]);
  const int most = j.attributes().max_sge;
  if (most + 1 > static_cast<int>(many.size())) return;
  j.expect("rdma_post_sendv, more than the device's max_sge",
           errno_of(rdma_post_sendv(ids.client, nullptr, many.data(), most + 1, 0)),
           {EINVAL, ENOMEM});
}

void uses_of_region(Judge& j) {
  Messages ids(j);
  std::array<char, 8> data{"remote"};
  ibv_mr* const readable = rdma_reg_read(ids.server, data.data(), data.size());
  must(j, "rdma_reg_read", errno_of(readable));
  j.require("rdma_post_read",
            errno_of(rdma_post_read(ids.client, nullptr, ids.out.data(), 8, ids.from, 0,
                                    reinterpret_cast<std::uint64_t>(data.data()), readable->rkey)));
  const ibv_wc wc = expect_completion(j, "the Read", ids.client->send_cq);
  j.expect_equal("its opcode", wc.opcode, IBV_WC_RDMA_READ);
  j.expect_text("its data", ids.out.data(), {"remote"});
  ibv_mr* const writable = rdma_reg_write(ids.server, ids.in.data(), ids.in.size());
  must(j, "rdma_reg_write", errno_of(writable));
  ids.write(writable->rkey);
  expect_completion(j, "the Write", ids.client->send_cq);
  ids.read(readable->rkey);  // Data of a Write are placed before a later Read is answered.
  expect_completion(j, "a second Read, beyond the region", ids.client->send_cq,
                    {IBV_WC_REM_ACCESS_ERR});
  j.expect_text("the data of the Write", ids.in.data(), {"remote"});
  ibv_wc none{};
  j.expect_equal("completions of the server",
                 static_cast<std::uint64_t>(ibv_poll_cq(ids.server->recv_cq, 1, &none)), 0);
}

void remote_lists(Judge& j) {
  Messages ids(j);
  std::array<char, 8> data{"remote"};
  ibv_mr* const remote = ibv_reg_mr(ids.server->pd, data.data(), data.size(), kAllRights);
  must(j, "ibv_reg_mr", errno_of(remote));
  const auto at = reinterpret_cast<std::uint64_t>(data.data());
  std::array parts{ibv_sge{reinterpret_cast<std::uint64_t>(&ids.out[4]), 2, ids.from->lkey},
                   ibv_sge{reinterpret_cast<std::uint64_t>(ids.out.data()), 2, ids.from->lkey}};
  j.require("rdma_post_writev",
            errno_of(rdma_post_writev(ids.client, nullptr, parts.data(), 2, 0, at, remote->rkey)));
  expect_completion(j, "the Write", ids.client->send_cq);
  j.require("rdma_post_readv", errno_of(rdma_post_readv(ids.client, nullptr, parts.data(), 2, 0,
                                                        at + 1, remote->rkey)));
  expect_completion(j, "the Read", ids.client->send_cq);
  j.expect_text("the written data", data.data(), {"efabte"});
  j.expect_text("the first buffer of the Read", std::string_view(&ids.out[4], 2), {"fa"});
  j.expect_text("its second buffer", std::string_view(ids.out.data(), 2), {"bt"});
}

enum class Region { kMessages, kRead, kWrite, kDeregistered, kUnknown };

/// The key of a region of the server that is registered for `R`.
template <Region R>
std::uint32_t key_of(Messages& ids) {
  if (R == Region::kMessages) return ids.to->rkey;
  if (R == Region::kUnknown) return ids.to->rkey ^ kNoKey;
  const auto register_region = R == Region::kRead ? rdma_reg_read : rdma_reg_write;
  ibv_mr* const mr = register_region(ids.server, ids.in.data(), ids.in.size());
  must(ids.judge, "registration", errno_of(mr));
  const std::uint32_t key = mr->rkey;
  if (R == Region::kDeregistered) {
    ids.judge.require("rdma_dereg_mr", errno_of(rdma_dereg_mr(mr)));
  }
  return key;
}

template <Region R>
void read_refused(Judge& j) {
  Messages ids(j);
  ids.read(key_of<R>(ids));
  expect_completion(j, "the Read", ids.client->send_cq, {IBV_WC_REM_ACCESS_ERR});
}

template <Region R>
void write_refused(Judge& j) {
  Messages ids(j);
  ids.write(key_of<R>(ids));
  expect_refused(j, "the Write", ids.client->send_cq);
  expect_event(j, "event at the server", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
  j.expect_true("the memory", ids.in[0] == 0, "unchanged");
}

/// With iWARP, the peer ends the connection. With RoCE, only the queue pair is in ERR.
template <Region R>
void write_fails(Judge& j) {
  Messages ids(j);
  ids.write(key_of<R>(ids));
  expect_refused(j, "the Write", ids.client->send_cq);
  j.expect_true("the memory", ids.in[0] == 0, "unchanged");
}

void too_long(Judge& j) {
  Messages ids(j);
  must(j, "rdma_post_recv",
       errno_of(rdma_post_recv(ids.server, nullptr, ids.in.data(), 4, ids.to)));
  must(j, "rdma_post_send",
       errno_of(rdma_post_send(ids.client, nullptr, ids.out.data(), 16, ids.from, 0)));
  expect_completion(j, "the receive", ids.server->recv_cq, {IBV_WC_LOC_LEN_ERR});
  expect_refused(j, "the Send", ids.client->send_cq, IBV_WC_REM_INV_REQ_ERR);
}

void unsignaled(Judge& j) {
  Ids ids(j, RDMA_PS_TCP, false);
  ibv_qp_init_attr init = qp_init(ids.client);
  init.sq_sig_all = 0;
  must(j, "rdma_create_qp", errno_of(rdma_create_qp(ids.client, nullptr, &init)));
  ids.connect();
  std::array<char, 8> out{};
  std::array<char, 8> in{};
  ibv_mr* const from = rdma_reg_msgs(ids.client, out.data(), out.size());
  ibv_mr* const to = rdma_reg_msgs(ids.server, in.data(), in.size());
  for (int i = 0; i < 2; ++i) {
    must(j, "rdma_post_recv", errno_of(rdma_post_recv(ids.server, nullptr, in.data(), 8, to)));
  }
  j.expect("rdma_post_send without a flag",
           errno_of(rdma_post_send(ids.client, &in, out.data(), 3, from, 0)));
  j.expect("rdma_post_send, IBV_SEND_SIGNALED",
           errno_of(rdma_post_send(ids.client, &out, out.data(), 3, from, IBV_SEND_SIGNALED)));
  const ibv_wc wc = expect_completion(j, "the first completion", ids.client->send_cq);
  j.expect_true("its wr_id", wc.wr_id == reinterpret_cast<std::uint64_t>(&out),
                "that of the signaled Send");
  for (int i = 0; i < 2; ++i) expect_completion(j, "a receive", ids.server->recv_cq);
}

void inline_data(Judge& j) {
  Ids ids(j, RDMA_PS_TCP, false);
  ibv_qp_init_attr init = qp_init(ids.client);
  init.cap.max_inline_data = 8;
  if (rdma_create_qp(ids.client, nullptr, &init) != 0) j.refuse("max_inline_data 8", ENOSYS);
  ids.connect();
  std::array<char, 8> out{"inline"};
  std::array<char, 16> in{};
  ibv_mr* const to = rdma_reg_write(ids.server, in.data(), in.size());
  const auto remote = reinterpret_cast<std::uint64_t>(in.data());
  must(j, "rdma_post_recv", errno_of(rdma_post_recv(ids.server, nullptr, &in[8], 8, to)));
  j.expect("rdma_post_write, IBV_SEND_INLINE",
           errno_of(rdma_post_write(ids.client, nullptr, out.data(), 8, nullptr, IBV_SEND_INLINE,
                                    remote, to->rkey)));
  j.expect("rdma_post_send, IBV_SEND_INLINE",
           errno_of(rdma_post_send(ids.client, nullptr, out.data(), 8, nullptr, IBV_SEND_INLINE)));
  out.fill('x');
  expect_completion(j, "the receive", ids.server->recv_cq);
  j.expect_text("data of the Write", in.data(), {"inline"});
  j.expect_text("data of the Send", &in[8], {"inline"});
}

void too_early(Judge& j) {
  Ids ids(j);
  std::array<char, 8> out{};
  ibv_mr* const from = rdma_reg_msgs(ids.client, out.data(), out.size());
  j.expect("rdma_post_send before rdma_connect",
           errno_of(rdma_post_send(ids.client, nullptr, out.data(), 3, from, 0)), {EINVAL});
}

void registration_in_use(Judge& j) {
  rdma_cm_id* const id = new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)));
  ibv_pd* const pd = ibv_alloc_pd(id->verbs);
  ibv_qp_init_attr init = qp_init(id);
  must(j, "rdma_create_qp", errno_of(rdma_create_qp(id, pd, &init)));
  std::array<char, 8> data{};
  ibv_mr* const mr = rdma_reg_msgs(id, data.data(), data.size());
  rdma_destroy_qp(id);
  j.expect("ibv_dealloc_pd with a region", errno_of(ibv_dealloc_pd(pd)), {EBUSY});
  j.expect("rdma_dereg_mr", errno_of(rdma_dereg_mr(mr)));
  j.expect("ibv_dealloc_pd without a region", errno_of(ibv_dealloc_pd(pd)));
}

void registration_fails(Judge& j) {
  rdma_cm_id* const id = new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)));
  create_qp(j, id);
  constexpr std::size_t kPage = 4096;
  errno = 0;
  const ibv_mr* const mr = rdma_reg_msgs(id, nullptr, kPage);
  j.expect_true("rdma_reg_msgs of address 0", mr == nullptr && errno != 0, "null, and errno");
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/message/send", "RCM-31 RCM-256 RCM-257 RCM-266 RCM-271", "delivers one message to each posted receive", messages, kCm},
    {"cm/message/lists", "RCM-270 RCM-276 RCM-277", "gathers and scatters lists of buffers in order", lists, kCm},
    {"cm/message/remote-lists", "RCM-280 RCM-284", "gathers a Write from a list of buffers and scatters a Read over it", remote_lists, kCm},
    {"cm/message/read-write", "RCM-256 RCM-260 RCM-262 RCM-278 RCM-281", "reads and writes the peer's memory", uses_of_region, kCm},
    {"cm/message/too-long", "RCM-268", "refuses a message that is longer than its receive", too_long, kCm},
    {"cm/message/unsignaled", "RCM-273", "completes only signaled requests", unsignaled, kCm},
    {"cm/message/inline", "RCM-272 RCM-282", "sends inline data from memory that is not registered", inline_data, kCm},
    {"cm/message/too-early", "RCM-274", "refuses rdma_post_send() before rdma_connect()", too_early, kCm | kByHand},
    {"cm/region/read-of-messages", "RCM-258", "refuses a Read from a region registered with rdma_reg_msgs()", read_refused<Region::kMessages>, kCm},
    {"cm/region/write-of-messages", "RCM-258", "refuses a Write to a region registered with rdma_reg_msgs()", write_fails<Region::kMessages>, kCm},
    {"cm/region/read-of-written", "RCM-263", "refuses a Read from a region registered with rdma_reg_write()", read_refused<Region::kWrite>, kCm},
    {"cm/region/write-of-read", "RCM-261", "refuses a Write to a region registered with rdma_reg_read()", write_fails<Region::kRead>, kCm},
    {"cm/region/write-ends", "RCM-258 RCM-261", "ends the connection after a refused Write", write_refused<Region::kRead>, kCm | kIwarp},
    {"cm/region/read-unknown", "RCM-279", "refuses a Read with an unknown rkey", read_refused<Region::kUnknown>, kCm},
    {"cm/region/write-unknown", "RCM-283", "refuses a Write with an unknown rkey", write_fails<Region::kUnknown>, kCm},
    {"cm/region/deregistered", "RCM-264", "refuses a Write to a deregistered region", write_fails<Region::kDeregistered>, kCm},
    {"cm/region/domain-in-use", "RCM-265", "refuses to deallocate a protection domain that has a region", registration_in_use, kCm},
    {"cm/region/failed", "RCM-259", "refuses to register memory that is not mapped", registration_fails, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_messages

iwarp::judge::Table iwarp::judge::cm_messages_cases() { return cm_messages::kCases; }
