// SPDX-License-Identifier: Apache-2.0
// Tests ids without an event channel. Each call with such an id blocks until it is done. Also tests
// queue pairs whose completion queues rdma_cm creates.
#include <arpa/inet.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

struct EndpointDestroyer {
  void operator()(rdma_cm_id* id) const { rdma_destroy_ep(id); }
};
using Endpoint = std::unique_ptr<rdma_cm_id, EndpointDestroyer>;

Endpoint make_endpoint(const char* service, int flags, ibv_qp_init_attr* init) {
  rdma_addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* raw = nullptr;
  REQUIRE(rdma_getaddrinfo("127.0.0.1", service, &hints, &raw) == 0);
  const std::unique_ptr<rdma_addrinfo, Destroyer> info(raw);
  rdma_cm_id* id = nullptr;
  REQUIRE(rdma_create_ep(&id, info.get(), nullptr, init) == 0);
  return Endpoint(id);
}

ibv_qp_init_attr usual() {
  return {.cap = {4, 4, 1, 1, 16}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
}

/// Returns the next receive completion. Waits for it with rdma_get_recv_comp().
ibv_wc received(rdma_cm_id* id) {
  ibv_wc wc{};
  CHECK(rdma_get_recv_comp(id, &wc) == 1);
  CHECK(wc.status == IBV_WC_SUCCESS);
  return wc;
}

void serve_one(rdma_cm_id* listener) {
  rdma_cm_id* raw = nullptr;
  REQUIRE(rdma_get_request(listener, &raw) == 0);
  const Endpoint id(raw);
  CHECK(id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST);
  REQUIRE(id->qp != nullptr);
  char in[16] = {};
  char out[16] = {};
  ibv_mr* const in_mr = rdma_reg_msgs(id.get(), in, sizeof in);
  ibv_mr* const out_mr = rdma_reg_msgs(id.get(), out, sizeof out);
  REQUIRE(rdma_post_recv(id.get(), nullptr, in, sizeof in, in_mr) == 0);
  REQUIRE(rdma_accept(id.get(), nullptr) == 0);
  CHECK(id->event->event == RDMA_CM_EVENT_ESTABLISHED);
  const auto wc = received(id.get());
  std::memcpy(out, in, wc.byte_len);
  CHECK(rdma_post_send(id.get(), nullptr, out, wc.byte_len, out_mr, 0) == 0);
  ibv_wc sent{};
  CHECK(rdma_get_send_comp(id.get(), &sent) == 1);
  CHECK(rdma_disconnect(id.get()) == 0);
  CHECK(rdma_dereg_mr(in_mr) == 0);
  CHECK(rdma_dereg_mr(out_mr) == 0);
}

// [RCM-198, RCM-234, RCM-235, RCM-239, RCM-242, RCM-243, RCM-244, RCM-249, RCM-250, RCM-252,
// RCM-267, RCM-272, RCM-286, RCM-287]
TEST_CASE("two endpoints connect, exchange a message and disconnect with blocking calls") {
  auto init = usual();
  const Endpoint listener = make_endpoint("0", RAI_PASSIVE, &init);
  REQUIRE(rdma_listen(listener.get(), 4) == 0);
  const std::string port = std::to_string(ntohs(rdma_get_src_port(listener.get())));
  for (int i = 0; i < 3; ++i) {
    std::thread server([&] { serve_one(listener.get()); });
    init = usual();
    const Endpoint client = make_endpoint(port.c_str(), 0, &init);
    char in[16] = {};
    ibv_mr* const mr = rdma_reg_msgs(client.get(), in, sizeof in);
    REQUIRE(rdma_post_recv(client.get(), nullptr, in, sizeof in, mr) == 0);
    REQUIRE(rdma_connect(client.get(), nullptr) == 0);
    CHECK(client->event->event == RDMA_CM_EVENT_ESTABLISHED);
    char out[] = "echo";
    REQUIRE(rdma_post_send(client.get(), nullptr, out, 4, nullptr, IBV_SEND_INLINE) == 0);
    std::memset(out, 'x', 4);  // The library has copied the inline data.
    CHECK(received(client.get()).byte_len == 4);
    CHECK(std::string(in, 4) == "echo");
    server.join();
    rdma_disconnect(client.get());
    CHECK(rdma_dereg_mr(mr) == 0);
  }
}

// [RCM-237]
TEST_CASE("a blocking call returns why it failed") {
  const Channel channel = make_channel();
  const std::uint16_t port = port_of(listening(channel));
  auto init = usual();
  const Endpoint client = make_endpoint(std::to_string(port).c_str(), 0, &init);
  errno = 0;
  CHECK(error_of(rdma_connect(client.get(), nullptr)) == ECONNREFUSED);
}

// [RCM-234, RCM-236]
TEST_CASE("an id without a channel resolves addresses with blocking calls") {
  rdma_cm_id* raw = nullptr;
  REQUIRE(rdma_create_id(nullptr, &raw, nullptr, RDMA_PS_TCP) == 0);
  const Id id(raw);
  CHECK(id->channel != nullptr);
  REQUIRE(rdma_resolve_addr(id.get(), nullptr, Address("127.0.0.1", 7).get(), 1000) == 0);
  CHECK(id->verbs != nullptr);
  CHECK(rdma_resolve_route(id.get(), 1000) == 0);
}

// [RCM-204, RCM-214, RCM-215]
TEST_CASE("queues that rdma_cm created are destroyed with the queue pair") {
  const Channel channel = make_channel();
  const Id id = resolved(channel, Address("127.0.0.1", 7));
  auto init = usual();
  REQUIRE(rdma_create_qp(id.get(), nullptr, &init) == 0);
  CHECK(id->pd != nullptr);
  CHECK(id->send_cq != nullptr);
  CHECK(id->recv_cq != nullptr);
  CHECK(id->send_cq_channel != nullptr);
  rdma_destroy_qp(id.get());
  CHECK(id->qp == nullptr);
  CHECK(id->send_cq == nullptr);
}

// [RCM-215]
TEST_CASE("a queue that is used in both places of an id is destroyed once") {
  const Channel channel = make_channel();
  const Id id = resolved(channel, Address("127.0.0.1", 7));
  const CompChannel completions(ibv_create_comp_channel(id->verbs));
  ibv_cq* const cq = ibv_create_cq(id->verbs, 16, nullptr, completions.get(), 0);
  REQUIRE(cq != nullptr);
  id->send_cq = id->recv_cq = cq;
  auto init = usual();
  init.send_cq = init.recv_cq = cq;
  REQUIRE(rdma_create_qp(id.get(), nullptr, &init) == 0);
  // Also destroys the completion queue, so the channel can be destroyed afterwards.
  rdma_destroy_qp(id.get());
}

}  // namespace
