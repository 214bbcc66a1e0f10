// SPDX-License-Identifier: Apache-2.0
// Tests the objects of an id: queue pairs and shared receive queues created with rdma_cma.h,
// requests posted with rdma_verbs.h, and options.
#include <rdma/rdma_verbs.h>

#include <array>
#include <cerrno>

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

// [RCM-197, RCM-211, RCM-212, RCM-213]
TEST_CASE("an extended queue pair of an id uses its queues, its domain and its receives") {
  const Channel channel = make_channel();
  const Id id = resolved_here(channel);
  ibv_srq_init_attr shared{.attr = {.max_wr = 8, .max_sge = 1}};
  REQUIRE(rdma_create_srq(id.get(), nullptr, &shared) == 0);
  ibv_qp_init_attr_ex attr{.cap = {.max_send_wr = 4, .max_send_sge = 1},
                           .qp_type = IBV_QPT_RC,
                           .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                           .send_ops_flags = IBV_QP_EX_WITH_SEND};
  REQUIRE(rdma_create_qp_ex(id.get(), &attr) == 0);
  CHECK(id->qp->srq == id->srq);
  CHECK(id->qp->pd == id->pd);
  CHECK(id->qp->send_cq == id->send_cq);
  CHECK(ibv_qp_to_qp_ex(id->qp) != nullptr);
  check_fails(EINVAL, [&] { return rdma_create_qp_ex(id.get(), &attr); });
  rdma_destroy_qp(id.get());
  rdma_destroy_srq(id.get());
  attr = {.cap = {.max_send_wr = 4}, .qp_type = IBV_QPT_UD};
  check_fails(EINVAL, [&] { return rdma_create_qp_ex(id.get(), &attr); });
  CHECK(id->qp == nullptr);
}

// [RCM-201]
TEST_CASE(
    "if an extended call has a null domain although its mask includes one, the id's domain is "
    "used") {
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

// [RCM-260, RCM-262, RCM-266, RCM-270, RCM-271, RCM-276, RCM-278, RCM-280, RCM-281, RCM-284]
TEST_CASE("the calls of rdma_verbs.h gather, scatter, write and read") {
  Pair pair({.all_signaled = true});
  rdma_cm_id* const client = pair.client.id.get();
  rdma_cm_id* const server = pair.server.id.get();
  std::array<char, 16> here{"0123456789abcde"};
  std::array<char, 16> there{};
  ibv_mr* const local = rdma_reg_read(client, here.data(), here.size());
  ibv_mr* const remote = rdma_reg_write(server, there.data(), there.size());
  REQUIRE(local != nullptr);
  REQUIRE(remote != nullptr);
  const auto at = [](const ibv_mr* mr, std::uint32_t offset, std::uint32_t length) {
    return ibv_sge{.addr = reinterpret_cast<std::uint64_t>(mr->addr) + offset,
                   .length = length,
                   .lkey = mr->lkey};
  };
  int context = 0;
  const auto done = [&] {
    CHECK(End::done(pair.client.send_cq).wr_id == reinterpret_cast<std::uint64_t>(&context));
  };
  std::array<ibv_sge, 2> in{at(remote, 0, 2), at(remote, 4, 4)};
  REQUIRE(rdma_post_recvv(server, &context, in.data(), in.size()) == 0);
  std::array<ibv_sge, 2> out{at(local, 0, 1), at(local, 8, 3)};
  REQUIRE(rdma_post_sendv(client, &context, out.data(), out.size(), 0) == 0);
  done();
  const ibv_wc arrived = End::done(pair.server.receive_cq);
  CHECK(arrived.byte_len == 4);
  CHECK(arrived.wr_id == reinterpret_cast<std::uint64_t>(&context));
  CHECK(std::string(there.data(), 8) == std::string("08\0\0"
                                                    "9a\0\0",
                                                    8));
  REQUIRE(rdma_post_write(client, &context, here.data(), 4, local, 0, at(remote, 8, 4).addr,
                          remote->rkey) == 0);
  done();
  REQUIRE(rdma_post_writev(client, &context, out.data(), out.size(), 0, at(remote, 12, 4).addr,
                           remote->rkey) == 0);
  done();
  ibv_mr* const source = rdma_reg_read(server, there.data(), there.size());
  REQUIRE(rdma_post_read(client, &context, here.data(), 8, local, 0, at(source, 8, 8).addr,
                         source->rkey) == 0);
  done();
  CHECK(std::string(here.data(), 8) == "0123089a");
  REQUIRE(rdma_post_readv(client, &context, out.data(), out.size(), 0, at(source, 1, 4).addr,
                          source->rkey) == 0);
  done();
  CHECK(here[0] == '8');
  CHECK(here[8] == '\0');
  CHECK(here[10] == '9');
  ibv_wc none{};
  CHECK(ibv_poll_cq(pair.server.receive_cq.get(), 1, &none) == 0);
  for (ibv_mr* const mr : {local, remote, source}) CHECK(rdma_dereg_mr(mr) == 0);
}

// [RCM-277]
TEST_CASE("a call of rdma_verbs.h that fails returns -1 and sets errno") {
  Pair pair;
  std::array<ibv_sge, 3> too_many{};
  rdma_cm_id* const id = pair.client.id.get();
  check_fails(EINVAL, [&] {
    return rdma_post_sendv(id, nullptr, too_many.data(), static_cast<int>(too_many.size()), 0);
  });
  check_fails(EINVAL, [&] {
    return rdma_post_recvv(id, nullptr, too_many.data(), static_cast<int>(too_many.size()));
  });
}

TEST_CASE("an errno result becomes -1 with errno set, and success stays 0") {
  check_fails(ENOMEM, [] { return rdma_seterrno(ENOMEM); });
  CHECK(rdma_seterrno(0) == 0);
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

// [RCM-309, RCM-313, RCM-318, RCM-319, RCM-320]
TEST_CASE("id options: known ones are checked for size and state, others do not exist") {
  const Channel channel = make_channel();
  const Id id = make_id(channel);
  std::uint8_t octet = 14;
  int number = 1;
  const auto set = [&](int level, int name, void* value, std::size_t size) {
    return rdma_set_option(id.get(), level, name, value, size);
  };
  CHECK(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &octet, sizeof octet) == 0);
  CHECK(set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &octet, sizeof octet) == 0);
  CHECK(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &number, sizeof number) == 0);
  CHECK(set(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &number, sizeof number) == 0);
  check_fails(EINVAL, [&] { return set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &number, 4); });
  check_fails(EINVAL, [&] { return set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &number, 4); });
  octet = 32;  // The timeout field has only five bits.
  check_fails(EINVAL, [&] { return set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &octet, 1); });
  check_fails(EINVAL, [&] { return set(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &octet, 1); });
  check_fails(ENOSYS, [&] { return set(RDMA_OPTION_ID, 1000, &number, sizeof number); });
  check_fails(ENOSYS, [&] { return set(RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &number, 4); });
  REQUIRE(rdma_bind_addr(id.get(), Address("127.0.0.1").get()) == 0);
  CHECK(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &number, sizeof number) == 0);
  number = 0;
  check_fails(EINVAL, [&] {
    return set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &number, sizeof number);
  });
}

// [RCM-143, RCM-144]
TEST_CASE("rdma_notify() has nothing to do over TCP, but needs a device") {
  const Channel channel = make_channel();
  const Id idle = make_id(channel);
  check_fails(EINVAL, [&] { return rdma_notify(idle.get(), IBV_EVENT_COMM_EST); });
  const Pair pair;
  CHECK(rdma_notify(pair.server.id.get(), IBV_EVENT_COMM_EST) == 0);
}

}  // namespace
