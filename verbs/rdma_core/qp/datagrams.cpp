// SPDX-License-Identifier: Apache-2.0
#include "qp/datagrams.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "device/limits.hpp"
#include "device/persona.hpp"
#include "device/port.hpp"
#include "iwarp/net/datagram_socket.hpp"
#include "objects/address_handle.hpp"
#include "process/connection_options.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"
#include "qp/batch.hpp"
#include "qp/queue_pair.hpp"
#include "qp/steps.hpp"

namespace iwarp::rdma_core {
namespace {

using verbs::DatagramState;

struct DatagramStep {
  ibv_qp_state to;
  DatagramState state;
};
constexpr std::array kStates{DatagramStep{IBV_QPS_RESET, DatagramState::kReset},
                             DatagramStep{IBV_QPS_INIT, DatagramState::kInit},
                             DatagramStep{IBV_QPS_RTR, DatagramState::kReceiving},
                             DatagramStep{IBV_QPS_RTS, DatagramState::kReady},
                             DatagramStep{IBV_QPS_ERR, DatagramState::kError}};

std::error_code put_in_state(Qp& qp, DatagramState in_core, ibv_qp_state state) {
  if (const auto error = qp.datagrams->set_state(in_core)) return error;
  qp.state = state;
  return {};
}

int change_datagram_state(Qp& qp, const ibv_qp_attr& attr) {
  const auto row = std::ranges::find(kStates, attr.qp_state, &DatagramStep::to);
  if (row == kStates.end() || put_in_state(qp, row->state, attr.qp_state)) return EINVAL;
  qp.abi.qp_base.state = attr.qp_state;  // In the program's thread, which may look at it.
  if (attr.qp_state == IBV_QPS_RESET) qp.attributes = {};
  return 0;
}

// Not under its mutex: who looks at it may wait for that, and have theirs.
void tell_begun_anew(Qp& qp, ibv_qp_state from, ibv_qp_state to) {
  Hooks* const hooks = qp.context.core.hooks();
  if (hooks == nullptr) return;
  if (to == IBV_QPS_RESET) hooks->reset(qp);
  if (from == IBV_QPS_SQE && to == IBV_QPS_RTS) hooks->recovered(qp);
}

int modify(Qp& qp, const ibv_qp_attr& attr, int mask) {
  const std::lock_guard lock(qp.mutex);
  const ibv_qp_state from = state_of_datagrams(qp);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : from;
  const bool is_there = (mask & IBV_QP_CUR_STATE) == 0 || attr.cur_qp_state == from;
  if (!is_there || !is_step(from, to, QpRules::kUd, mask)) return EINVAL;
  const bool has_key = (mask & IBV_QP_QKEY) != 0;
  if (has_key) qp.datagrams->set_q_key(attr.qkey);  // In force before a datagram may come.
  if ((mask & IBV_QP_STATE) != 0) {
    if (const int code = change_datagram_state(qp, attr)) return code;
  }
  if (has_key) qp.attributes.qkey = attr.qkey;
  if ((mask & IBV_QP_SQ_PSN) != 0) qp.attributes.sq_psn = attr.sq_psn;
  return 0;
}

}  // namespace

std::size_t max_datagram() {
  ibv_port_attr attr{};
  show_as_roce(look_at_port(), attr);
  return std::size_t{128} << attr.active_mtu;
}

std::unique_ptr<net::DatagramQp> make_datagram_core(Pd& pd, const Qp& qp) {
  const ibv_qp_cap& cap = qp.cap;
  const net::DatagramQpOptions options{
      .init = {.send_cq = qp.send_cq->core.get(),
               .recv_cq = qp.recv_cq->core.get(),
               .srq = qp.srq != nullptr ? qp.srq->core.get() : nullptr,
               .limits = {.max_send_wr = cap.max_send_wr,
                          .max_recv_wr = cap.max_recv_wr,
                          .max_send_sge = cap.max_send_sge,
                          .max_recv_sge = cap.max_recv_sge,
                          .max_inline = cap.max_inline_data},
               .signal_all = qp.signal_all,
               .max_payload = max_datagram()},
      .ports = port_range(),
      .tap = datagram_tap()};
  auto core = pd.context.core.rnic().create_datagram_qp(*pd.core, options);
  if (!core) throw std::system_error(core.error());
  return std::move(*core);
}

int modify_datagrams(Qp& qp, const ibv_qp_attr& attr, int mask) {
  if (!is_in_range(attr, mask)) return EINVAL;
  const ibv_qp_state from = state_of_datagrams(qp);
  if (const int code = modify(qp, attr, mask)) return code;
  if ((mask & IBV_QP_STATE) != 0) tell_begun_anew(qp, from, attr.qp_state);
  return 0;
}

void fail_datagrams(Qp& qp) {
  const std::lock_guard lock(qp.mutex);
  (void)put_in_state(qp, DatagramState::kError, IBV_QPS_ERR);  // from every state
}

ibv_qp_state state_of_datagrams(const Qp& qp) {
  if (qp.datagrams->state() == DatagramState::kError) return IBV_QPS_ERR;
  return qp.datagrams->send_failed() ? IBV_QPS_SQE : qp.state.load();
}

int make_request(verbs::DatagramWr& out, const ibv_send_wr& wr) {
  const bool has_immediate = wr.opcode == IBV_WR_SEND_WITH_IMM;
  if ((wr.opcode != IBV_WR_SEND && !has_immediate) || wr.wr.ud.ah == nullptr) return EINVAL;
  if (has_immediate) out.immediate = ntohl(wr.imm_data);
  out.to = {
      .path = Ah::of(wr.wr.ud.ah).path, .qp = wr.wr.ud.remote_qpn, .q_key = wr.wr.ud.remote_qkey};
  return 0;
}

int post_datagrams(Qp& qp, ibv_send_wr*& wr) {
  return post_in_batches<verbs::DatagramWr>(
      wr, [](auto& out, const auto& from, auto) { return make_request(out, from); },
      [&qp](std::span<const verbs::DatagramWr> requests, std::size_t& posted) {
        return to_errno(qp.datagrams->post_send(requests, posted));
      });
}

int post_built(Qp& qp, std::span<const verbs::DatagramWr> wrs) {
  return to_errno(qp.datagrams->post_all(wrs));
}

}  // namespace iwarp::rdma_core

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the C interface's half

extern "C" {

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t /*lid*/) {
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    if (!self.context.core.alive()) return EIO;
    const auto group = to_ip(*gid);
    if (self.datagrams == nullptr || !iwarp::net::is_multicast(group)) return EINVAL;
    const auto interfaces = interfaces_of_groups(look_at_port(), iwarp::net::is_ipv4(group));
    return to_errno(self.datagrams->attach(group, interfaces));
  });
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t /*lid*/) {
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    if (!self.context.core.alive()) return EIO;
    if (self.datagrams == nullptr) return EINVAL;
    return to_errno(self.datagrams->detach(to_ip(*gid)));
  });
}

}  // extern "C"
