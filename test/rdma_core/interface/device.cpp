// SPDX-License-Identifier: Apache-2.0
// Tests devices, contexts, protection domains and memory through the C interface.
#include <fcntl.h>

#include <cerrno>
#include <limits>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

TEST_CASE("both queries of the device return its capabilities") {
  const Context context = open_device();
  ibv_device_attr attr{};
  REQUIRE(ibv_query_device(context.get(), &attr) == 0);
  CHECK(attr.phys_port_cnt == 1);
  CHECK(attr.max_qp > 0);
  CHECK(attr.max_qp_rd_atom > 0);
  ibv_device_attr_ex extended{};
  REQUIRE(ibv_query_device_ex(context.get(), nullptr, &extended) == 0);
  CHECK(extended.orig_attr.max_cqe == attr.max_cqe);
  CHECK(extended.phys_port_cnt_ex == 1);
  ibv_port_attr port{};
  REQUIRE(ibv_query_port(context.get(), 1, &port) == 0);
  CHECK(port.state == IBV_PORT_ACTIVE);
  CHECK(port.link_layer == IBV_LINK_LAYER_ETHERNET);
  CHECK(ibv_query_port(context.get(), 2, &port) == EINVAL);
  CHECK(context->device->node_type == IBV_NODE_RNIC);
  CHECK(context->device->transport_type == IBV_TRANSPORT_IWARP);
}

TEST_CASE("the connection manager lists the same device") {
  int count = 0;
  const std::unique_ptr<ibv_context*, Destroyer> list(rdma_get_devices(&count));
  REQUIRE(list);
  CHECK(count == 1);
  CHECK(std::string(ibv_get_device_name(list.get()[0]->device)) == "iwarp0");
  CHECK(list.get()[1] == nullptr);
}

TEST_CASE("objects of a device that was opened twice can be used together") {
  const Context one = open_device();
  const Context two = open_device();
  CHECK(one != two);
  Pair pair({.pd_context = two.get()});
  CHECK(pair.client.id->verbs != two.get());
  const Buffer out(pair.client.pd.get(), "from a domain of another context");
  const Buffer in(pair.server.pd.get(), 64);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  REQUIRE(pair.client.send(out.sge()) == 0);
  const auto wc = End::done(pair.server.receive_cq);
  CHECK(in.text(wc.byte_len) == "from a domain of another context");
}

TEST_CASE("a completion queue of impossible size or vector is refused") {
  const Context context = open_device();
  ibv_device_attr attr{};
  REQUIRE(ibv_query_device(context.get(), &attr) == 0);
  const auto refused = [&](int cqe, int vector) {
    errno = 0;
    Cq cq(ibv_create_cq(context.get(), cqe, nullptr, nullptr, vector));
    return !cq && errno == EINVAL;
  };
  CHECK(refused(std::numeric_limits<int>::max(), 0));
  CHECK(refused(attr.max_cqe + 1, 0));
  CHECK(refused(0, 0));
  CHECK(refused(-1, 0));
  CHECK(refused(16, context->num_comp_vectors));
  CHECK(refused(16, -1));
  const Cq cq(ibv_create_cq(context.get(), 100, nullptr, nullptr, 0));
  REQUIRE(cq);
  CHECK(cq->cqe >= 100);
}

TEST_CASE("unknown or contradictory access rights are refused, but unknown optional ones are not") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  std::vector<char> memory(4096);
  // Because the access rights are not a constant here, the header calls the function that accepts
  // optional access flags.
  const auto error_of = [&](int rights) {
    errno = 0;
    ibv_mr* const mr = ibv_reg_mr(pd.get(), memory.data(), memory.size(), rights);
    const int error = errno;
    if (mr == nullptr) return error;
    CHECK(ibv_dereg_mr(mr) == 0);
    return 0;
  };
  CHECK(error_of(kRights) == 0);
  CHECK(error_of(0) == 0);
  CHECK(error_of(kRights | IBV_ACCESS_RELAXED_ORDERING) == 0);
  CHECK(error_of(kRights | (1 << 27)) == 0);
  CHECK(error_of(kRights | (1 << 15)) == EINVAL);
  CHECK(error_of(kRights | (1 << 30)) == EINVAL);
  CHECK(error_of(IBV_ACCESS_REMOTE_WRITE) == EINVAL);
  CHECK(error_of(IBV_ACCESS_REMOTE_ATOMIC) == EINVAL);
  CHECK(error_of(kRights | IBV_ACCESS_ON_DEMAND) == EOPNOTSUPP);
}

TEST_CASE("keys of regions are not reused soon, and are hard to guess") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  std::vector<std::uint32_t> keys;
  for (int i = 0; i < 16; ++i) {
    const Buffer buffer(pd.get(), 64, kRights);
    for (const auto before : keys) CHECK(before != buffer.mr->rkey);
    keys.push_back(buffer.mr->rkey);
  }
  bool in_steps = true;
  for (std::size_t i = 2; i < keys.size(); ++i) {
    in_steps = in_steps && keys[i] - keys[i - 1] == keys[1] - keys[0];
  }
  CHECK_FALSE(in_steps);
}

TEST_CASE("objects in use cannot be destroyed") {
  const Context context = open_device();
  Pd pd(ibv_alloc_pd(context.get()));
  {
    const Buffer buffer(pd.get(), 64);
    CHECK(ibv_dealloc_pd(pd.get()) == EBUSY);
  }
  CompChannel channel(ibv_create_comp_channel(context.get()));
  {
    const Cq cq(ibv_create_cq(context.get(), 16, nullptr, channel.get(), 0));
    CHECK(ibv_destroy_comp_channel(channel.get()) == EBUSY);
  }
  CHECK(ibv_destroy_comp_channel(channel.release()) == 0);
}

TEST_CASE("with a non-blocking descriptor the program does not wait for an asynchronous event") {
  const Context context = open_device();
  REQUIRE(::fcntl(context->async_fd, F_SETFL, O_NONBLOCK) == 0);
  ibv_async_event event{};
  errno = 0;
  CHECK(ibv_get_async_event(context.get(), &event) == -1);
  CHECK(errno == EAGAIN);
}

}  // namespace
