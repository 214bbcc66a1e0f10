// SPDX-License-Identifier: Apache-2.0
// UdQp: the states, posts and groups of UD queue pairs, and ibv_attach_mcast() and
// ibv_detach_mcast().
#include "qp/ud.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "device/port.hpp"
#include "iwarp/net/datagram_socket.hpp"
#include "objects/objects.hpp"
#include "process/connection_options.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "qp/batch.hpp"
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

std::error_code put_in_state(UdQp& qp, DatagramState in_core, ibv_qp_state state) {
  if (const auto error = qp.core->set_state(in_core)) return error;
  qp.state = state;
  return {};
}

int change_datagram_state(UdQp& qp, const ibv_qp_attr& attr) {
  const auto row = std::ranges::find(kStates, attr.qp_state, &DatagramStep::to);
  if (row == kStates.end() || put_in_state(qp, row->state, attr.qp_state)) return EINVAL;
  // The program may read ibv_qp::state at any time without a lock. Only its own threads change that
  // field, and this function runs in one of them.
  qp.abi.qp_base.state = attr.qp_state;
  if (attr.qp_state == IBV_QPS_RESET) qp.attributes = {};
  return 0;
}

// Reports to the hooks that the program has reset the queue pair, or has moved it from SQE back to
// RTS. Call without the queue pair's mutex locked, because another thread may hold a lock of the
// hooks while it waits for that mutex.
void tell_begun_anew(UdQp& qp, ibv_qp_state from, ibv_qp_state to) {
  Hooks* const hooks = qp.context.hooks;
  if (hooks == nullptr) return;
  if (to == IBV_QPS_RESET) hooks->reset(qp);
  if (from == IBV_QPS_SQE && to == IBV_QPS_RTS) hooks->recovered(qp);
}

int change(UdQp& qp, const ibv_qp_attr& attr, int mask) {
  const std::lock_guard lock(qp.mutex);
  const ibv_qp_state from = qp.state_now();
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : from;
  const bool is_there = (mask & IBV_QP_CUR_STATE) == 0 || attr.cur_qp_state == from;
  if (!is_there) return refuse_state(attr, from);
  if (const int code = check_step(from, to, QpRules::kUd, mask)) return code;
  const bool has_key = (mask & IBV_QP_QKEY) != 0;
  // Sets the Q_Key before the state, because datagrams can arrive as soon as the state is RTR.
  // [IBV-481]
  if (has_key) qp.core->set_q_key(attr.qkey);
  if ((mask & IBV_QP_STATE) != 0) {
    if (const int code = change_datagram_state(qp, attr)) return code;
  }
  if (has_key) qp.attributes.qkey = attr.qkey;
  if ((mask & IBV_QP_SQ_PSN) != 0) qp.attributes.sq_psn = attr.sq_psn;
  return 0;
}

}  // namespace

std::size_t max_datagram(Device& device) {
  return std::size_t{128} << port_attributes(device.profile(), device.port()).active_mtu;
}

verbs::QpNum UdQp::make_core() {
  const net::DatagramQpOptions options{.init = {.send_cq = send_cq->core.get(),
                                                .recv_cq = recv_cq->core.get(),
                                                .srq = srq != nullptr ? srq->core.get() : nullptr,
                                                .limits = limits(),
                                                .signal_all = signal_all,
                                                .max_payload = max_datagram(context.device)},
                                       .ports = port_range(),
                                       .tap = datagram_tap()};
  auto made = pd->context.rnic.create_datagram_qp(*pd->core, options);
  if (!made) throw std::system_error(made.error());
  core = std::move(*made);
  return core->num();
}

void UdQp::enter() { context.core.add(num(), *this); }

int UdQp::modify(const ibv_qp_attr& attr, int mask) {
  if (const int code = check_ranges(context.device, attr, mask)) return code;
  const ibv_qp_state from = state_now();
  if (const int code = change(*this, attr, mask)) return code;
  if ((mask & IBV_QP_STATE) != 0) tell_begun_anew(*this, from, attr.qp_state);
  return 0;
}

int UdQp::to_error() {
  const std::lock_guard lock(mutex);
  // Ignores the result, because the core allows this step in every state.
  (void)put_in_state(*this, DatagramState::kError, IBV_QPS_ERR);
  return 0;
}

ibv_qp_state UdQp::state_now() const {
  if (core->state() == DatagramState::kError) return IBV_QPS_ERR;
  return core->send_failed() ? IBV_QPS_SQE : state.load();
}

ibv_qp_state UdQp::describe(ibv_qp_attr& attr) const { return attr.qp_state = state_now(); }

// [IBV-344, IBV-505, IBV-575, IBV-584, IBV-585]
int make_request(verbs::DatagramWr& out, const ibv_send_wr& wr) {
  const bool has_immediate = wr.opcode == IBV_WR_SEND_WITH_IMM;
  if ((wr.opcode != IBV_WR_SEND && !has_immediate) || wr.wr.ud.ah == nullptr) return EINVAL;
  if (has_immediate) out.immediate = ntohl(wr.imm_data);
  out.to = {
      .path = Ah::of(wr.wr.ud.ah).path, .qp = wr.wr.ud.remote_qpn, .q_key = wr.wr.ud.remote_qkey};
  return 0;
}

// [RCM-285]
int UdQp::post(ibv_send_wr*& wr) {
  return post_in_batches<verbs::DatagramWr>(
      wr, [](auto& out, const auto& from, auto) { return make_request(out, from); },
      [this](std::span<const verbs::DatagramWr> requests, std::size_t& posted) {
        return to_errno(core->post_send(requests, posted));
      });
}

int UdQp::receive(ibv_recv_wr*& wr) { return post_receives(*core, wr); }

int UdQp::post_staged() { return to_errno(core->post_all(staged->ready_datagrams)); }

int UdQp::attach(const verbs::IpAddress& group, std::span<const unsigned> on) {
  return to_errno(core->attach(group, on));
}

int UdQp::detach(const verbs::IpAddress& group) { return to_errno(core->detach(group)); }

bool UdQp::is_attached() const { return core->is_attached(); }

void UdQp::end() {
  context.core.remove<UdQp>(num());
  settle_events(*this);
  core.reset();
  if (Hooks* const hooks = context.hooks) hooks->silenced(*this);
}

void UdQp::abandon() noexcept { (void)core.release(); }

extern "C" {

// [IBV-586, IBV-590]
int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t /*lid*/) {
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    if (!self.context.alive()) return EIO;
    const auto group = to_ip(*gid);
    if (!net::is_multicast(group)) return EINVAL;
    return self.attach(group,
                       interfaces_of_groups(self.context.device.port(), net::is_ipv4(group)));
  });
}

// [IBV-588]
int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t /*lid*/) {
  return guarded_call([&] {
    Qp& self = Qp::of(known(qp));
    if (!self.context.alive()) return EIO;
    return self.detach(to_ip(*gid));
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
