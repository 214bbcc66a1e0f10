// SPDX-License-Identifier: Apache-2.0
// Tests the objects of an id: queue pairs and shared receive queues created with rdma_cma.h, and a
// request posted with rdma_verbs.h.
#include <rdma/rdma_verbs.h>

#include <array>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

constexpr std::uint16_t kDiscard = 9;

/// Checks that the call returns -1 and sets errno to `code`.
template <typename Call>
void check_fails(int code, Call call) {
  errno = 0;
  CHECK(error_of(call()) == code);
}

Id resolved_here(const Channel& channel) {
  return resolved(channel, Address("127.0.0.1", kDiscard));
}

void check_empty_srq(rdma_cm_id* id, std::uint32_t max_wr) {
  REQUIRE(id->srq != nullptr);
  ibv_srq_attr attr{};
  CHECK(ibv_query_srq(id->srq, &attr) == 0);
  CHECK(attr.max_wr >= max_wr);
  rdma_destroy_srq(id);
  CHECK(id->srq == nullptr);
}

// [RCM-218, RCM-219, RCM-220, RCM-221, RCM-223]
TEST_CASE("an id has one shared receive queue, in its own domain or in the program's") {
  const Channel channel = make_channel();
  const Id idle = make_id(channel);
  ibv_srq_init_attr attr{.attr = {.max_wr = 8, .max_sge = 2}};
  check_fails(EINVAL, [&] { return rdma_create_srq(idle.get(), nullptr, &attr); });
  const Id id = resolved_here(channel);
  ibv_pd* const own = id->pd;
  REQUIRE(rdma_create_srq(id.get(), nullptr, &attr) == 0);
  CHECK(id->srq->pd == own);
  check_fails(EINVAL, [&] { return rdma_create_srq(id.get(), nullptr, &attr); });
  check_empty_srq(id.get(), 8);
  const Pd pd(ibv_alloc_pd(id->verbs));
  REQUIRE(rdma_create_srq(id.get(), pd.get(), &attr) == 0);
  CHECK(id->srq->pd == pd.get());
  check_empty_srq(id.get(), 8);
  id->pd = own;
}

// [RCM-222]
TEST_CASE("the extended call creates the same queue, and refuses kinds that iWARP does not have") {
  const Channel channel = make_channel();
  const Id id = resolved_here(channel);
  ibv_srq_init_attr_ex attr{.attr = {.max_wr = 4, .max_sge = 1}};
  REQUIRE(rdma_create_srq_ex(id.get(), &attr) == 0);
  check_empty_srq(id.get(), 4);
  attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  attr.srq_type = IBV_SRQT_XRC;
  check_fails(EOPNOTSUPP, [&] { return rdma_create_srq_ex(id.get(), &attr); });
  CHECK(id->srq == nullptr);
}

// [RCM-201]
TEST_CASE("an extended call whose mask includes a null domain uses the domain of the id") {
  const Channel channel = make_channel();
  const Id id = resolved_here(channel);
  ibv_qp_init_attr_ex attr{
      .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC, .comp_mask = IBV_QP_INIT_ATTR_PD};
  REQUIRE(rdma_create_qp_ex(id.get(), &attr) == 0);
  CHECK(id->qp->pd == id->pd);
  ibv_srq_init_attr_ex shared{.attr = {.max_wr = 4, .max_sge = 1},
                              .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                              .srq_type = IBV_SRQT_BASIC};
  REQUIRE(rdma_create_srq_ex(id.get(), &shared) == 0);
  CHECK(id->srq->pd == id->pd);
  rdma_destroy_srq(id.get());
}

TEST_CASE("a datagram call on a connection is a Send to its peer") {
  Pair pair({.all_signaled = true});
  const Buffer in(pair.server.pd.get(), 8);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  std::array<char, 4> text{"udp"};
  REQUIRE(rdma_post_ud_send(pair.client.id.get(), nullptr, text.data(), 3, nullptr, IBV_SEND_INLINE,
                            nullptr, 7) == 0);
  CHECK(End::done(pair.server.receive_cq).byte_len == 3);
  CHECK(in.text(3) == "udp");
}

TEST_CASE("an errno result becomes -1 with errno set, and success stays 0") {
  check_fails(ENOMEM, [] { return rdma_seterrno(ENOMEM); });
  CHECK(rdma_seterrno(0) == 0);
}

// [RCM-319]
TEST_CASE("an id has no path records that a program could replace") {
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  int path = 1;
  check_fails(ENOSYS, [&] {
    return rdma_set_option(id.get(), RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path, sizeof path);
  });
}

// [RCM-215]
TEST_CASE("a queue that is used in both places of an id is destroyed once") {
  const Channel channel = make_channel();
  const Id id = resolved_here(channel);
  const CompChannel completions(ibv_create_comp_channel(id->verbs));
  ibv_cq* const cq = ibv_create_cq(id->verbs, 16, nullptr, completions.get(), 0);
  REQUIRE(cq != nullptr);
  id->send_cq = id->recv_cq = cq;
  ibv_qp_init_attr init{
      .send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  REQUIRE(rdma_create_qp(id.get(), nullptr, &init) == 0);
  // Also destroys the completion queue, so the channel can be destroyed afterwards.
  rdma_destroy_qp(id.get());
}

}  // namespace
