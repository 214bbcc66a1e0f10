// SPDX-License-Identifier: Apache-2.0
// Runs the scenario of native.cpp through the C interface, with two ids on one event channel, each
// with one completion queue.
#include <rdma/rdma_cma.h>

#include <memory>
#include <vector>

#include "../rdma_core/support/verbs_end.hpp"
#include "scenario.hpp"

namespace failing {
namespace {

constexpr std::size_t kSize = 50'000;

using rdma_core_test::check;
using rdma_core_test::must;

/// Throws if `result`, that of a call that sets errno, is not 0.
void need(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

struct End {
  ~End() {
    if (id != nullptr && id->qp != nullptr) rdma_destroy_qp(id);
    if (mr != nullptr) ibv_dereg_mr(mr);
    if (cq != nullptr) ibv_destroy_cq(cq);
    if (pd != nullptr) ibv_dealloc_pd(pd);
    if (id != nullptr) rdma_destroy_id(id);
  }
  void equip() {
    pd = must(ibv_alloc_pd(id->verbs), "ibv_alloc_pd");
    cq = must(ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0), "ibv_create_cq");
    mr = must(ibv_reg_mr(pd, buffer.data(), buffer.size(), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
    ibv_qp_init_attr wanted{.send_cq = cq,
                            .recv_cq = cq,
                            .cap = {4, 4, 1, 1, 0},
                            .qp_type = IBV_QPT_RC,
                            .sq_sig_all = 1};
    need(rdma_create_qp(id, pd, &wanted), "rdma_create_qp");
  }
  ibv_sge sge() const {
    return {.addr = reinterpret_cast<std::uintptr_t>(buffer.data()),
            .length = static_cast<std::uint32_t>(buffer.size()),
            .lkey = mr->lkey};
  }
  void post_recv() {
    ibv_sge one = sge();
    check(rdma_core_test::post_recv(id->qp, {.sg_list = &one, .num_sge = 1}) == 0, "ibv_post_recv");
  }
  void post_send() {
    ibv_sge one = sge();
    const ibv_send_wr wr{.sg_list = &one, .num_sge = 1, .opcode = IBV_WR_SEND};
    check(rdma_core_test::post_send(id->qp, wr) == 0, "ibv_post_send");
  }
  void look() {
    if (cq == nullptr) return;
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 1) ++(wc.status == IBV_WC_SUCCESS ? succeeded : broken);
  }

  rdma_cm_id* id = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  std::vector<unsigned char> buffer = std::vector<unsigned char>(kSize);
  unsigned succeeded = 0;
  unsigned broken = 0;
  bool established = false;
  bool over = false;
};

class Session {
 public:
  ~Session() {
    if (listener_ != nullptr) rdma_destroy_id(listener_);
  }

  std::string run() {
    for (std::size_t i = 0; i < kSize; ++i) a_.buffer[i] = static_cast<unsigned char>(i * 7 + 3);
    sockaddr_in at{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    channel_.reset(must(rdma_create_event_channel(), "rdma_create_event_channel"));
    need(rdma_create_id(channel_.get(), &listener_, nullptr, RDMA_PS_TCP), "rdma_create_id");
    need(rdma_bind_addr(listener_, address), "rdma_bind_addr");
    need(rdma_listen(listener_, 4), "rdma_listen");
    at.sin_port = rdma_get_src_port(listener_);
    need(rdma_create_id(channel_.get(), &a_.id, nullptr, RDMA_PS_TCP), "rdma_create_id");
    need(rdma_resolve_addr(a_.id, nullptr, address, 1000), "rdma_resolve_addr");
    await(RDMA_CM_EVENT_ADDR_RESOLVED);
    need(rdma_resolve_route(a_.id, 1000), "rdma_resolve_route");
    await(RDMA_CM_EVENT_ROUTE_RESOLVED);
    a_.equip();
    rdma_conn_param how{.responder_resources = 1, .initiator_depth = 1};
    need(rdma_connect(a_.id, &how), "rdma_connect");
    while (!(a_.established && b_.established)) {
      if (a_.over || b_.over) return ended();
      take_event();
    }
    a_.post_send();
    while (a_.succeeded == 0 || b_.succeeded == 0) {
      a_.look();
      b_.look();
      if (a_.broken != 0 || b_.broken != 0 || overflowed()) return ended();
    }
    if (a_.buffer != b_.buffer) violation = "wrong octets";
    need(rdma_disconnect(a_.id), "rdma_disconnect");
    while (!a_.over || !b_.over) take_event();
    return error_;
  }

  std::string violation;

 private:
  std::string ended() {
    if (a_.established) (void)rdma_disconnect(a_.id);
    if (b_.established) (void)rdma_disconnect(b_.id);
    while ((a_.established && !a_.over) || (b_.established && !b_.over)) take_event();
    return error_.empty() ? "the connection ended" : error_;
  }

  // Returns whether a completion queue has reported that it lost completions.
  bool overflowed() const {
    if (!rdma_core_test::is_readable(a_.id->verbs->async_fd)) return false;
    ibv_async_event event{};
    if (ibv_get_async_event(a_.id->verbs, &event) != 0) return false;
    ibv_ack_async_event(&event);
    return event.event_type == IBV_EVENT_CQ_ERR;
  }

  void await(rdma_cm_event_type type) {
    rdma_cm_event* const event = next();
    const auto came = event->event;
    rdma_ack_cm_event(event);
    check(came == type, rdma_event_str(came));
  }

  rdma_cm_event* next() const {
    rdma_cm_event* event = nullptr;
    while (rdma_get_cm_event(channel_.get(), &event) != 0) {
      if (errno != EINTR) need(-1, "rdma_get_cm_event");
    }
    return event;
  }

  void take_event() {
    rdma_cm_event* const event = next();
    const auto type = event->event;
    rdma_cm_id* const id = event->id;
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) return accept(id);
    End& end = id == a_.id ? a_ : b_;
    if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT) return;
    if (type == RDMA_CM_EVENT_ESTABLISHED) {
      if (end.established) violation = "established twice";
      end.established = true;
      return;
    }
    if (end.over) violation = "ended twice";
    end.over = true;
    if (type != RDMA_CM_EVENT_DISCONNECTED) note(rdma_event_str(type));
  }

  void accept(rdma_cm_id* id) {
    b_.id = id;
    try {
      b_.equip();
      b_.post_recv();
      rdma_conn_param how{.responder_resources = 1, .initiator_depth = 1};
      need(rdma_accept(id, &how), "rdma_accept");
    } catch (const std::runtime_error& failed) {
      note(failed.what());
      (void)rdma_reject(id, nullptr, 0);
    }
  }

  void note(const std::string& error) {
    if (error_.empty()) error_ = error;
  }

  std::unique_ptr<rdma_event_channel, decltype(&rdma_destroy_event_channel)> channel_{
      nullptr, rdma_destroy_event_channel};
  rdma_cm_id* listener_ = nullptr;
  End a_;
  End b_;
  std::string error_;
};

}  // namespace

Outcome drop_in() {
  Outcome out;
  try {
    Session session;
    try {
      out.error = session.run();
    } catch (const std::runtime_error& failed) {
      out.error = failed.what();
    }
    out.violation = session.violation;
  } catch (const std::bad_alloc&) {
    out.error = "no memory";
  }
  return out;
}

}  // namespace failing
