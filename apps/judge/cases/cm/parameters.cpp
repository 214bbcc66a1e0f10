// SPDX-License-Identifier: Apache-2.0
// Cases about the parameters of rdma_connect(), rdma_accept() and rdma_reject(): private data, the
// number of outstanding Reads, retry counts, and what the peer's events say about them.
#include <algorithm>
#include <array>
#include <cstring>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_parameters {
namespace {

// RoCE and InfiniBand: rdma_connect(3), rdma_accept(3), and the sizes of ib_cm.
constexpr std::size_t kMostOfConnect = 56;
constexpr std::size_t kMostOfAccept = 196;
constexpr std::size_t kMostOfReject = 148;
constexpr std::size_t kMostAtAll = 255;

std::string with_length(const char* text, std::size_t length) {
  return std::string(text) + ", " + std::to_string(length) + " bytes";
}

/// Compares the private data of an event, which may be followed by zeros.
void expect_data(Judge& j, const std::string& step, const CmEvent& event, const std::string& sent) {
  const bool has_rest_zero = std::all_of(
      event.data.begin() + static_cast<std::ptrdiff_t>(std::min(sent.size(), event.data.size())),
      event.data.end(), [](char each) { return each == 0; });
  j.expect_true(step, event.data.starts_with(sent) && has_rest_zero, "the data, then zeros");
}

void data_of_request(Judge& j) {
  Ids ids(j);
  const std::size_t most = j.is_iwarp() ? kMostAtAll : kMostOfConnect;
  for (const std::size_t length : {std::size_t{1}, most - 1, most}) {
    const std::string data(length, 'd');
    rdma_conn_param parameters = with_data(data);
    const int code = errno_of(rdma_connect(ids.client, &parameters));
    // As an RNIC, the call may refuse data that the device cannot carry.
    if (j.is_iwarp() && length > 1 && code == EINVAL) continue;
    j.require(with_length("rdma_connect", length), code);
    expect_data(j, with_length("the request", length),
                await(j, ids.at_server, RDMA_CM_EVENT_CONNECT_REQUEST), data);
    ids.renew_client();
  }
}

void data_of_answer(Judge& j) {
  Ids ids(j);
  const std::size_t most = j.is_iwarp() ? kMostAtAll : kMostOfAccept;
  for (const std::size_t length : {std::size_t{1}, most - 1, most}) {
    const std::string data(length, 'd');
    rdma_conn_param parameters = with_data(data);
    ids.request();
    create_qp(j, ids.server);
    const int code = errno_of(rdma_accept(ids.server, &parameters));
    if (j.is_iwarp() && length > 1 && code == EINVAL) continue;
    j.require(with_length("rdma_accept", length), code);
    expect_data(j, with_length("the client's ESTABLISHED", length),
                await(j, ids.at_client, RDMA_CM_EVENT_ESTABLISHED), data);
    await(j, ids.at_server, RDMA_CM_EVENT_ESTABLISHED);
    ids.renew_client();
  }
}

void data_of_rejection(Judge& j) {
  Ids ids(j);
  for (const std::size_t length : {std::size_t{1}, kMostOfReject - 1, kMostOfReject}) {
    const std::string data(length, 'd');
    ids.request();
    const auto size = static_cast<std::uint8_t>(length);
    j.require(with_length("rdma_reject", length),
              errno_of(rdma_reject(ids.server, data.data(), size)));
    expect_data(j, with_length("REJECTED", length), await(j, ids.at_client, RDMA_CM_EVENT_REJECTED),
                data);
    ids.renew_client();
  }
}

void too_long_request(Judge& j) {
  Ids ids(j);
  for (const std::size_t length : {kMostOfConnect + 1, kMostAtAll}) {
    const std::string data(length, 'd');
    rdma_conn_param parameters = with_data(data);
    j.expect(with_length("rdma_connect", length), errno_of(rdma_connect(ids.client, &parameters)),
             {EINVAL});
  }
  expect_no_event(j, "events of the failed calls", ids.at_client);
}

void too_long_answer(Judge& j) {
  Ids ids(j);
  ids.request();
  create_qp(j, ids.server);
  const std::string data(kMostOfAccept + 1, 'd');
  rdma_conn_param parameters = with_data(data);
  j.expect("rdma_accept, 197 bytes", errno_of(rdma_accept(ids.server, &parameters)), {EINVAL});
}

void too_long_rejection(Judge& j) {
  Ids ids(j);
  ids.request();
  const std::string data(kMostOfReject + 1, 'd');
  const auto size = static_cast<std::uint8_t>(data.size());
  j.expect("rdma_reject, 149 bytes", errno_of(rdma_reject(ids.server, data.data(), size)),
           {EINVAL});
  j.expect("rdma_reject without data", errno_of(rdma_reject(ids.server, nullptr, 0)));
  expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_REJECTED});
}

void data_is_copied(Judge& j) {
  Ids ids(j);
  std::string data = "abcd";
  rdma_conn_param parameters = with_data(data);
  must(j, "rdma_connect", errno_of(rdma_connect(ids.client, &parameters)));
  data = "zzzz";
  rdma_cm_event* const event = wait_event(ids.at_server);
  j.require_true("the request", event != nullptr, "it arrives");
  ids.renew_client();
  must(j, "rdma_connect", errno_of(rdma_connect(ids.client, &parameters)));
  await(j, ids.at_server, RDMA_CM_EVENT_CONNECT_REQUEST);
  const auto& conn = event->param.conn;
  j.require_true("private_data", conn.private_data != nullptr && conn.private_data_len >= 4,
                 "there");
  j.expect_text("the data before the acknowledgement, after another event",
                std::string_view(static_cast<const char*>(conn.private_data), 4), {"abcd"});
}

void no_data(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{};
  parameters.private_data_len = 9;
  const CmEvent request = ids.request(&parameters);
  const auto is_empty = [](const CmEvent& event) {
    return event.data.find_first_not_of('\0') == std::string::npos;
  };
  j.expect_true("the request, a length without a pointer", is_empty(request), "no data");
  parameters.private_data = "x";
  parameters.private_data_len = 0;
  const CmEvent answer = ids.accept(&parameters);
  j.expect_true("the answer, a pointer without a length", is_empty(answer), "no data");
  if (!j.is_iwarp()) return;
  const bool are_null = request.conn.private_data == nullptr && answer.conn.private_data == nullptr;
  j.expect_true("private_data as an RNIC", are_null, "null");
}

/// The number of Reads that the client can receive and send, and those of the server.
struct Depths {
  std::uint8_t resources;
  std::uint8_t depth;
};

template <Depths Client>
void depths(Judge& j) {
  const ibv_device_attr& most = j.attributes();
  if (Client.resources > most.max_qp_rd_atom || Client.depth > most.max_qp_init_rd_atom) {
    j.not_applicable("the device has fewer Reads");
  }
  Ids ids(j);
  rdma_conn_param client{.responder_resources = Client.resources, .initiator_depth = Client.depth};
  const CmEvent request = ids.request(&client);
  j.expect_equal("responder_resources of the request", request.conn.responder_resources,
                 Client.depth);
  j.expect_equal("initiator_depth of the request", request.conn.initiator_depth, Client.resources);
  rdma_conn_param server{.responder_resources = std::min<std::uint8_t>(Client.depth, 1),
                         .initiator_depth = std::min<std::uint8_t>(Client.resources, 1)};
  const CmEvent answer = ids.accept(&server);
  j.expect_equal("responder_resources of the answer", answer.conn.responder_resources,
                 server.initiator_depth);
  j.expect_equal("initiator_depth of the answer", answer.conn.initiator_depth,
                 server.responder_resources);
  const int mask = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
  const ibv_qp_attr of_client = query(j, ids.client->qp, mask);
  j.expect_equal("max_rd_atomic of the client", of_client.max_rd_atomic,
                 server.responder_resources);
  j.expect_equal("max_dest_rd_atomic of the client", of_client.max_dest_rd_atomic,
                 server.initiator_depth);
  const ibv_qp_attr of_server = query(j, ids.server->qp, mask);
  j.expect_equal("max_rd_atomic of the server", of_server.max_rd_atomic, server.initiator_depth);
  j.expect_equal("max_dest_rd_atomic of the server", of_server.max_dest_rd_atomic,
                 server.responder_resources);
}

void depth_above_offer(Judge& j) {
  Ids ids(j);
  rdma_conn_param client{.responder_resources = 1, .initiator_depth = 1};
  ids.request(&client);
  create_qp(j, ids.server);
  rdma_conn_param server{.responder_resources = 1, .initiator_depth = 2};
  if (rdma_accept(ids.server, &server) != 0) {
    j.expect("rdma_accept, initiator_depth 2 of 1", errno, {EINVAL});
    return;
  }
  await(j, ids.at_client, RDMA_CM_EVENT_ESTABLISHED);
  await(j, ids.at_server, RDMA_CM_EVENT_ESTABLISHED);
  j.expect_equal("max_rd_atomic of the server",
                 query(j, ids.server->qp, IBV_QP_MAX_QP_RD_ATOMIC).max_rd_atomic, 1);
}

/// One more than the maximum of the device; not applicable if 255, which means the maximum.
std::uint8_t above(Judge& j, int most) {
  if (most + 1 >= RDMA_MAX_RESP_RES) j.not_applicable("no number is above the maximum");
  return static_cast<std::uint8_t>(most + 1);
}

void depths_above_device(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{};
  parameters.responder_resources = above(j, j.attributes().max_qp_rd_atom);
  j.expect("rdma_connect, responder_resources", errno_of(rdma_connect(ids.client, &parameters)),
           {EINVAL});
  parameters.responder_resources = 0;
  parameters.initiator_depth = above(j, j.attributes().max_qp_init_rd_atom);
  j.expect("rdma_connect, initiator_depth", errno_of(rdma_connect(ids.client, &parameters)),
           {EINVAL});
  ids.request();
  create_qp(j, ids.server);
  j.expect("rdma_accept, initiator_depth", errno_of(rdma_accept(ids.server, &parameters)),
           {EINVAL});
  parameters.initiator_depth = 0;
  parameters.responder_resources = above(j, j.attributes().max_qp_rd_atom);
  j.expect("rdma_accept, responder_resources", errno_of(rdma_accept(ids.server, &parameters)),
           {EINVAL});
}

/// 255, or no parameters at all.
template <bool HasParameters>
void most_depths(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{.responder_resources = RDMA_MAX_RESP_RES,
                             .initiator_depth = RDMA_MAX_INIT_DEPTH};
  const CmEvent request = ids.request(HasParameters ? &parameters : nullptr);
  const auto reads = static_cast<std::uint64_t>(j.attributes().max_qp_init_rd_atom);
  const auto resources = static_cast<std::uint64_t>(j.attributes().max_qp_rd_atom);
  j.expect_equal("initiator_depth of the request", request.conn.initiator_depth, resources);
  j.expect_equal("responder_resources of the request", request.conn.responder_resources, reads);
  if (!HasParameters && !j.is_iwarp()) {
    j.expect_equal("retry_count of the request", request.conn.retry_count, 7);
    j.expect_equal("rnr_retry_count of the request", request.conn.rnr_retry_count, 7);
  }
  const CmEvent answer = ids.accept(HasParameters ? &parameters : nullptr);
  j.expect_equal("initiator_depth of the answer", answer.conn.initiator_depth,
                 std::min(reads, resources));
}

void reads_wait(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{.responder_resources = 1, .initiator_depth = 1};
  ids.request(&parameters);
  ids.accept(&parameters);
  std::array<char, 8> data{"abc"};
  std::array<char, 8> in{};
  ibv_mr* const from = rdma_reg_read(ids.server, data.data(), data.size());
  ibv_mr* const to = rdma_reg_msgs(ids.client, in.data(), in.size());
  for (int i = 0; i < 4; ++i) {
    must(j, "rdma_post_read",
         errno_of(rdma_post_read(ids.client, nullptr, in.data(), in.size(), to, 0,
                                 reinterpret_cast<std::uint64_t>(data.data()), from->rkey)));
  }
  for (const char* const step : {"first Read", "second Read", "third Read", "fourth Read"}) {
    expect_completion(j, step, ids.client->send_cq);
  }
}

void retry_counts(Judge& j) {
  Ids ids(j);
  rdma_conn_param client{.flow_control = 1, .retry_count = 5, .rnr_retry_count = 6};
  const CmEvent request = ids.request(&client);
  j.expect_equal("retry_count of the request", request.conn.retry_count, 5);
  j.expect_equal("rnr_retry_count of the request", request.conn.rnr_retry_count, 6);
  j.expect_equal("flow_control of the request", request.conn.flow_control, 1);
  rdma_conn_param server{.flow_control = 1, .retry_count = 2, .rnr_retry_count = 4};
  const CmEvent answer = ids.accept(&server);
  j.expect_equal("rnr_retry_count of the answer", answer.conn.rnr_retry_count, 4);
  j.expect_equal("flow_control of the answer", answer.conn.flow_control, 1);
  const int mask = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  const ibv_qp_attr of_client = query(j, ids.client->qp, mask);
  j.expect_equal("retry_cnt of the client", of_client.retry_cnt, 5);
  j.expect_equal("rnr_retry of the client", of_client.rnr_retry, 4);
  const ibv_qp_attr of_server = query(j, ids.server->qp, mask);
  j.expect_equal("retry_cnt of the server", of_server.retry_cnt, 5);
  j.expect_equal("rnr_retry of the server", of_server.rnr_retry, 6);
}

void large_retry_counts(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{.retry_count = 200, .rnr_retry_count = 200};
  const CmEvent request = ids.request(&parameters);
  j.expect_equal("retry_count of the request", request.conn.retry_count, 7);
  j.expect_equal("rnr_retry_count of the request", request.conn.rnr_retry_count, 7);
}

void no_numbers_of_iwarp(Judge& j) {
  Ids ids(j);
  rdma_conn_param parameters{.flow_control = 1, .retry_count = 5, .rnr_retry_count = 6};
  const CmEvent request = ids.request(&parameters);
  j.expect_equal("retry_count", request.conn.retry_count, 0);
  j.expect_equal("rnr_retry_count", request.conn.rnr_retry_count, 0);
  j.expect_equal("flow_control", request.conn.flow_control, 0);
  j.expect_equal("srq", request.conn.srq, 0);
  j.expect_equal("qp_num", request.conn.qp_num, 0);
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/data/request", "RCM-160 RCM-163 RCM-165 RCM-168", "delivers the private data of rdma_connect()", data_of_request, kCm},
    {"cm/data/answer", "RCM-161 RCM-163 RCM-166 RCM-168", "delivers the private data of rdma_accept()", data_of_answer, kCm},
    {"cm/data/rejection", "RCM-154 RCM-163 RCM-167", "delivers the private data of rdma_reject()", data_of_rejection, kCm},
    {"cm/data/long-request", "RCM-165 RCM-3", "refuses 57 bytes of private data in rdma_connect()", too_long_request, kCm | kByHand},
    {"cm/data/long-answer", "RCM-166", "refuses 197 bytes of private data in rdma_accept()", too_long_answer, kCm | kByHand},
    {"cm/data/long-rejection", "RCM-167", "refuses 149 bytes of private data in rdma_reject()", too_long_rejection, kCm | kByHand},
    {"cm/data/copy", "RCM-132 RCM-164", "keeps private data valid until its event is acknowledged", data_is_copied, kCm},
    {"cm/data/none", "RCM-162 RCM-169", "delivers no private data if the pointer is null or the length is 0", no_data, kCm},
    {"cm/depth/3-4", "RCM-170 RCM-171 RCM-172 RCM-173 RCM-175 RCM-176", "negotiates responder_resources 3 and initiator_depth 4", depths<Depths{3, 4}>, kCm},
    {"cm/depth/1-1", "RCM-170 RCM-171 RCM-172 RCM-173", "negotiates responder_resources 1 and initiator_depth 1", depths<Depths{1, 1}>, kCm},
    {"cm/depth/7-2", "RCM-170 RCM-171 RCM-172 RCM-173", "negotiates responder_resources 7 and initiator_depth 2", depths<Depths{7, 2}>, kCm},
    {"cm/depth/16-16", "RCM-170 RCM-171", "negotiates responder_resources 16 and initiator_depth 16", depths<Depths{16, 16}>, kCm},
    {"cm/depth/0-0", "RCM-170 RCM-171 RCM-172 RCM-173", "negotiates responder_resources 0 and initiator_depth 0", depths<Depths{0, 0}>, kCm},
    {"cm/depth/above-offer", "RCM-174", "limits the server's initiator_depth to the client's responder_resources, or refuses a higher one", depth_above_offer, kCm},
    {"cm/depth/above-device", "RCM-177 RCM-178 RCM-179", "refuses responder_resources or initiator_depth above the device's limit", depths_above_device, kCm},
    {"cm/depth/most", "RCM-180", "offers the device's maximum if responder_resources and initiator_depth are 255", most_depths<true>, kCm},
    {"cm/depth/without-parameters", "RCM-150 RCM-181", "offers the device's maximum responder_resources and initiator_depth if conn_param is null", most_depths<false>, kCm},
    {"cm/depth/wait", "RCM-182", "completes four Reads to a peer that accepts one at a time", reads_wait, kCm},
    {"cm/retry/counts", "RCM-183 RCM-184 RCM-185 RCM-190 RCM-191 RCM-192", "sends retry_count and rnr_retry_count to the peer", retry_counts, kCm | kByHand},
    {"cm/retry/large", "RCM-189", "sends 7 for a retry_count or rnr_retry_count above 7", large_retry_counts, kCm | kByHand},
    {"cm/retry/iwarp", "RCM-188", "reports retry counts of 0 on an iWARP device", no_numbers_of_iwarp, kCm | kIwarp},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_parameters

iwarp::judge::Table iwarp::judge::cm_parameters_cases() { return cm_parameters::kCases; }
