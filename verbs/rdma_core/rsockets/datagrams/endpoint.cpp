// SPDX-License-Identifier: Apache-2.0
#include "rsockets/datagrams/endpoint.hpp"

#include <fcntl.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "device/limits.hpp"
#include "iwarp/verbs/datagram.hpp"
#include "objects/address_handle.hpp"
#include "rsockets/common/work_ids.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint8_t kThePort = 1;
constexpr std::uint8_t kHopsToGo = 64;
// The maximum number of completions that one call handles. Without this limit, peers that never
// stop sending could keep that call from returning.
constexpr int kMostAtOnce = 256;

[[noreturn]] void no_endpoint() { throw std::system_error(errno, std::generic_category()); }

template <typename Pointer>
Pointer* made(Pointer* pointer) {
  if (pointer == nullptr) no_endpoint();
  return pointer;
}

// Sets the sizes of the queues and buffers. As in the original rsockets, the maximum number of
// requests in a queue is the number of messages of maximum size that fit into the buffer.
Sizes& for_datagrams(Sizes& sizes) {
  const auto requests = [](std::uint16_t wanted, std::uint32_t& ring) {
    constexpr std::uint32_t kLargest = kMaxDatagram;
    const std::uint32_t room = std::max(ring / kLargest, 1U);
    const auto out = std::clamp<std::uint32_t>(wanted, 1, std::min<std::uint32_t>(room, kMaxWr));
    ring = out * kLargest;
    return static_cast<std::uint16_t>(out);
  };
  sizes.send_requests = requests(sizes.send_requests, sizes.send_ring);
  sizes.receives = requests(sizes.receives, sizes.receive_ring);
  sizes.inline_octets = std::min<std::uint16_t>(sizes.inline_octets, kMaxInline);
  return sizes;
}

ibv_context* the_device() {
  int count = 0;
  ibv_context** const list = made(rdma_get_devices(&count));
  ibv_context* const out = count != 0 ? list[0] : nullptr;
  rdma_free_devices(list);
  errno = ENODEV;
  return made(out);
}

}  // namespace

DatagramEndpoint::DatagramEndpoint(Sizes& sizes)
    : sends_(for_datagrams(sizes).send_requests),
      send_memory_(sizes.send_ring),
      receive_memory_(sizes.receive_ring),
      routes_(sizes.receives * sizeof(ibv_grh)) {
  for (std::uint32_t slot = 0; slot < sends_; ++slot) free_sends_.push_back(slot);
  try {
    make_queue(sizes);
    for (std::uint32_t slot = 0; slot < sizes.receives; ++slot) {
      errno = post_receive(slot);
      if (errno != 0) no_endpoint();
    }
    set_state(IBV_QPS_RTR);
    set_state(IBV_QPS_RTS);
  } catch (...) {
    release();
    throw;
  }
}

DatagramEndpoint::~DatagramEndpoint() { release(); }

void DatagramEndpoint::make_queue(const Sizes& sizes) {
  ibv_context* const device = the_device();
  ibv_port_attr port{};
  errno = ibv_query_port(device, kThePort, &port);
  if (errno != 0) no_endpoint();
  max_message_ = std::min(std::size_t{128} << port.active_mtu, kMaxDatagram);
  pd_ = made(ibv_alloc_pd(device));
  channel_ = made(ibv_create_comp_channel(device));
  if (::fcntl(fd(), F_SETFL, O_NONBLOCK) != 0) no_endpoint();
  cq_ = made(ibv_create_cq(device, sizes.send_requests + sizes.receives, nullptr, channel_, 0));
  ibv_qp_init_attr attr{};
  attr.send_cq = cq_;
  attr.recv_cq = cq_;
  attr.qp_type = IBV_QPT_UD;
  attr.sq_sig_all = 1;
  attr.cap = {.max_send_wr = sizes.send_requests,
              .max_recv_wr = sizes.receives,
              .max_send_sge = 1,
              .max_recv_sge = 2,
              .max_inline_data = sizes.inline_octets};
  qp_ = made(ibv_create_qp(pd_, &attr));
  max_inline_ = attr.cap.max_inline_data;
  const auto registered = [&](const Pages& pages) {
    constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
    return made(ibv_reg_mr(pd_, pages.data(), pages.size(), kAccess));
  };
  send_mr_ = registered(send_memory_);
  receive_mr_ = registered(receive_memory_);
  routes_mr_ = registered(routes_);
  set_state(IBV_QPS_INIT);
}

void DatagramEndpoint::set_state(ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  attr.port_num = kThePort;
  attr.qkey = RDMA_UDP_QKEY;
  int mask = IBV_QP_STATE;
  if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  if (state == IBV_QPS_RTS) mask |= IBV_QP_SQ_PSN;
  errno = ibv_modify_qp(qp_, &attr, mask);
  if (errno != 0) no_endpoint();
}

void DatagramEndpoint::release() {
  if (qp_ != nullptr) ibv_destroy_qp(qp_);
  for (ibv_mr* const mr : {send_mr_, receive_mr_, routes_mr_}) {
    if (mr != nullptr) ibv_dereg_mr(mr);
  }
  if (cq_ != nullptr) ibv_destroy_cq(cq_);
  if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
  if (pd_ != nullptr) ibv_dealloc_pd(pd_);
}

std::unique_ptr<ibv_ah, DestroyAh> DatagramEndpoint::address_handle(const UdpAddress& own,
                                                                    const UdpAddress& peer) const {
  const auto is_own = [&](const ibv_gid& gid) { return std::ranges::equal(gid.raw, own.ip); };
  ibv_port_attr port{};
  if (ibv_query_port(pd_->context, kThePort, &port) != 0) return nullptr;
  for (int index = 0; index < port.gid_tbl_len; ++index) {
    ibv_gid gid{};
    if (ibv_query_gid(pd_->context, kThePort, index, &gid) != 0 || !is_own(gid)) continue;
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = kThePort;
    std::ranges::copy(peer.ip, attr.grh.dgid.raw);
    attr.grh.sgid_index = static_cast<std::uint8_t>(index);
    attr.grh.hop_limit = kHopsToGo;
    return std::unique_ptr<ibv_ah, DestroyAh>(ibv_create_ah(pd_, &attr));
  }
  return nullptr;
}

int DatagramEndpoint::post_receive(std::uint32_t slot) {
  constexpr std::uint32_t kRoute = sizeof(ibv_grh);
  std::array sges{
      ibv_sge{address_of(routes_.data() + std::size_t{slot} * kRoute), kRoute, routes_mr_->lkey},
      ibv_sge{address_of(slot_of(receive_memory_, slot).data()), kMaxDatagram, receive_mr_->lkey}};
  ibv_recv_wr wr{};
  wr.wr_id = kReceive | slot;
  wr.sg_list = sges.data();
  wr.num_sge = sges.size();
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp_, &wr, &bad);
}

bool DatagramEndpoint::take(std::vector<Received>& out) {
  std::array<ibv_wc, 16> completions;
  int taken = 0;
  while (taken < kMostAtOnce) {
    const int n = ibv_poll_cq(cq_, static_cast<int>(completions.size()), completions.data());
    if (n <= 0) break;
    taken += n;
    for (const ibv_wc& wc : std::span(completions).first(static_cast<std::size_t>(n))) {
      if ((wc.wr_id & kWhose) != kReceive) {
        sent(wc);
        continue;
      }
      const auto slot = octets_of(wc.wr_id);
      if (wc.status != IBV_WC_SUCCESS || wc.byte_len < sizeof(ibv_grh)) {
        (void)post_receive(slot);
        continue;
      }
      ibv_grh route{};
      std::memcpy(&route, routes_.data() + std::size_t{slot} * sizeof route, sizeof route);
      const ibv_gid from = sender_of(route);
      Received got{.slot = slot,
                   .from = {},
                   .octets = slot_of(receive_memory_, slot).first(wc.byte_len - sizeof route)};
      std::ranges::copy(from.raw, got.from.ip.begin());
      out.push_back(got);
    }
  }
  return taken != 0;
}

// Handles the completion of a send. If the send has failed, its message is lost, and this function
// moves the queue pair back to RTS, so that later messages can be sent.
void DatagramEndpoint::sent(const ibv_wc& wc) {
  free_sends_.push_back(octets_of(wc.wr_id));
  if (wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR) return;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  (void)ibv_modify_qp(qp_, &attr, IBV_QP_STATE);
}

int DatagramEndpoint::send(std::size_t length, const Peer& to) {
  const std::uint32_t slot = free_sends_.back();
  ibv_sge sge{address_of(slot_of(send_memory_, slot).data()), static_cast<std::uint32_t>(length),
              send_mr_->lkey};
  ibv_send_wr wr{};
  wr.wr_id = request_of_ring(slot);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = length <= max_inline_ ? IBV_SEND_INLINE : 0;
  wr.wr.ud.ah = to.address_handle.get();
  wr.wr.ud.remote_qpn = *to.queue_pair;
  wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
  ibv_send_wr* bad = nullptr;
  const int code = ibv_post_send(qp_, &wr, &bad);
  if (code == 0) free_sends_.pop_back();
  return code;
}

void DatagramEndpoint::arm() {
  if (!armed_) armed_ = ibv_req_notify_cq(cq_, 0) == 0;
}

bool DatagramEndpoint::take_events() {
  const bool taken = take_all_events(*channel_);
  if (taken) armed_ = false;
  return taken;
}

}  // namespace iwarp::rdma_core::rsockets
