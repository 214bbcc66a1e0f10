// SPDX-License-Identifier: Apache-2.0
// Creates one connected end after the other, with the calls that any program uses.
#include "endpoint.hpp"

namespace rdma_core_test {

namespace {

constexpr int kDepth = 64;

Cq make_cq(ibv_context* context, const CompChannel& channel) {
  Cq cq(ibv_create_cq(context, kDepth, nullptr, channel.get(), 0));
  REQUIRE(cq);
  return cq;
}

}  // namespace

Context open_device() {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  REQUIRE(list != nullptr);
  REQUIRE(count == 1);
  Context context(ibv_open_device(list[0]));
  ibv_free_device_list(list);
  REQUIRE(context);
  return context;
}

Id make_id(const Channel& channel, rdma_port_space space) {
  rdma_cm_id* raw = nullptr;
  REQUIRE(rdma_create_id(channel.get(), &raw, nullptr, space) == 0);
  return Id(raw);
}

Event expect(const Channel& channel, rdma_cm_event_type type) {
  REQUIRE(is_readable(channel->fd, kTimeoutMs));
  rdma_cm_event* raw = nullptr;
  REQUIRE(rdma_get_cm_event(channel.get(), &raw) == 0);
  Event event(raw);
  INFO(rdma_event_str(event->event), " with status ", event->status);
  REQUIRE(event->event == type);
  return event;
}

Address::Address(std::string_view host, std::uint16_t port) {
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  const std::string text(host);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return;
  }
  REQUIRE(::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
}

Buffer::Buffer(ibv_pd* pd, std::size_t size, int access)
    : octets(size), mr(ibv_reg_mr(pd, octets.data(), size, access)) {
  REQUIRE(mr != nullptr);
}

Buffer::Buffer(ibv_pd* pd, std::string_view text) : Buffer(pd, text.size()) {
  octets.assign(text.begin(), text.end());
}

Buffer::~Buffer() { CHECK(ibv_dereg_mr(mr) == 0); }

ibv_sge Buffer::sge(std::size_t length) const {
  return {address(), static_cast<std::uint32_t>(length), mr->lkey};
}

int End::send(ibv_sge sge, unsigned flags, std::uint64_t wr_id) const {
  return post_send(
      id->qp,
      {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags});
}

int End::write(ibv_sge sge, const Buffer& to, unsigned flags) const {
  ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = flags};
  wr.wr.rdma = {.remote_addr = to.address(), .rkey = to.mr->rkey};
  return post_send(id->qp, wr);
}

int End::receive(ibv_sge sge, std::uint64_t wr_id) const {
  return post_recv(id->qp, {.wr_id = wr_id, .next = nullptr, .sg_list = &sge, .num_sge = 1});
}

ibv_wc End::done(ibv_cq* cq) {
  const ibv_wc wc = rdma_core_test::next(cq);
  INFO(ibv_wc_status_str(wc.status));
  REQUIRE(wc.status == IBV_WC_SUCCESS);
  return wc;
}

// [RCM-70, RCM-87]
Id resolved(const Channel& channel, Address to, rdma_port_space space,
            std::optional<Address> from) {
  Id id = make_id(channel, space);
  sockaddr* const source = from ? from->get() : nullptr;
  REQUIRE(rdma_resolve_addr(id.get(), source, to.get(), kTimeoutMs) == 0);
  CHECK(expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED)->status == 0);
  REQUIRE(rdma_resolve_route(id.get(), kTimeoutMs) == 0);
  CHECK(expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED)->status == 0);
  return id;
}

Id bound(const Channel& channel, Address at, rdma_port_space space) {
  Id id = make_id(channel, space);
  REQUIRE(rdma_bind_addr(id.get(), at.get()) == 0);
  return id;
}

Id listening(const Channel& channel, const Address& at, int backlog, rdma_port_space space) {
  Id id = bound(channel, at, space);
  REQUIRE(rdma_listen(id.get(), backlog) == 0);
  return id;
}

std::uint16_t port_of(const Id& id) { return ntohs(rdma_get_src_port(id.get())); }

std::string private_data(const Event& event) {
  const auto& conn = event->param.conn;
  return {static_cast<const char*>(conn.private_data), conn.private_data_len};
}

Meeting::Meeting()
    : channel(make_channel()),
      server_channel(make_channel()),
      listener(listening(server_channel)),
      port(port_of(listener)),
      client{.id = resolved(channel, Address("127.0.0.1", port))} {}

// [RCM-105, RCM-115, RCM-122]
void Meeting::request_connection(rdma_conn_param* param) {
  REQUIRE(rdma_connect(client.id.get(), param) == 0);
  request = expect(server_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
  CHECK(request->listen_id == listener.get());
  CHECK(request->id != listener.get());
  server.id.reset(request->id);
}

void Meeting::ask(rdma_conn_param* param, const PairOptions& options) {
  make_queue_pair(client, options);
  request_connection(param);
  make_queue_pair(server, options);
}

void Meeting::accept(rdma_conn_param* param) {
  REQUIRE(rdma_accept(server.id.get(), param) == 0);
  request.reset();
}

// [RCM-125, RCM-127, RCM-145]
Event Meeting::establish() {
  Event out = expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  CHECK(out->status == 0);
  CHECK(expect(server_channel, RDMA_CM_EVENT_ESTABLISHED)->id == server.id.get());
  return out;
}

Pair::Pair(const PairOptions& options) {
  rdma_conn_param param{
      .responder_resources = 4, .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};
  ask(&param, options);
  accept(&param);
  establish();
}

void make_queue_pair(End& end, const PairOptions& options) {
  ibv_context* const verbs = end.id->verbs;
  REQUIRE(verbs != nullptr);
  end.pd.reset(ibv_alloc_pd(verbs));
  end.send_channel.reset(ibv_create_comp_channel(verbs));
  end.receive_channel.reset(ibv_create_comp_channel(verbs));
  end.send_cq = make_cq(verbs, end.send_channel);
  end.receive_cq = make_cq(verbs, end.receive_channel);
  ibv_qp_init_attr init{.send_cq = end.send_cq.get(),
                        .recv_cq = end.receive_cq.get(),
                        .cap = options.cap,
                        .qp_type = IBV_QPT_RC,
                        .sq_sig_all = options.all_signaled ? 1 : 0};
  REQUIRE(rdma_create_qp(end.id.get(), end.pd.get(), &init) == 0);
}

}  // namespace rdma_core_test
