// SPDX-License-Identifier: Apache-2.0
// DatagramEndpoint: makes and moves its queue pair, posts buffers, and recovers after a failed
// send, whose message is lost.
#include "rsockets/datagrams/endpoint.hpp"

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "device/limits.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint8_t kThePort = 1;
constexpr std::uint8_t kHopsToGo = 64;
constexpr std::uint32_t kRoute = sizeof(ibv_grh);

/// Throws std::system_error if `code` is not 0.
void check(int code) {
  if (code != 0) fail(code);
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
      free_sends_(sends_),
      pd_(made(ibv_alloc_pd(the_device()))),
      send_memory_(pd_.get(), sizes.send_ring, IBV_ACCESS_LOCAL_WRITE),
      receive_memory_(pd_.get(), sizes.receive_ring, IBV_ACCESS_LOCAL_WRITE),
      routes_(pd_.get(), std::size_t{sizes.receives} * kRoute, IBV_ACCESS_LOCAL_WRITE),
      cq_(pd_->context, sizes.send_requests + sizes.receives) {
  std::iota(free_sends_.begin(), free_sends_.end(), 0U);
  ibv_port_attr port{};
  check(ibv_query_port(pd_->context, kThePort, &port));
  max_message_ = std::min(std::size_t{128} << port.active_mtu, kMaxDatagram);
  ibv_qp_init_attr attr{};
  attr.send_cq = cq_.get();
  attr.recv_cq = cq_.get();
  attr.qp_type = IBV_QPT_UD;
  attr.sq_sig_all = 1;
  attr.cap = {.max_send_wr = sizes.send_requests,
              .max_recv_wr = sizes.receives,
              .max_send_sge = 1,
              .max_recv_sge = 2,
              .max_inline_data = sizes.inline_octets};
  qp_.reset(made(ibv_create_qp(pd_.get(), &attr)));
  max_inline_ = attr.cap.max_inline_data;
  set_state(IBV_QPS_INIT);
  for (std::uint32_t slot = 0; slot < sizes.receives; ++slot) check(post_receive(slot));
  set_state(IBV_QPS_RTR);
  set_state(IBV_QPS_RTS);
}

void DatagramEndpoint::set_state(ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  attr.port_num = kThePort;
  attr.qkey = RDMA_UDP_QKEY;
  int mask = IBV_QP_STATE;
  if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  if (state == IBV_QPS_RTS) mask |= IBV_QP_SQ_PSN;
  check(ibv_modify_qp(qp_.get(), &attr, mask));
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
    return std::unique_ptr<ibv_ah, DestroyAh>(ibv_create_ah(pd_.get(), &attr));
  }
  return nullptr;
}

int DatagramEndpoint::post_receive(std::uint32_t slot) {
  std::array to{routes_.sge(slot * kRoute, kRoute),
                receive_memory_.sge(slot * kMaxDatagram, kMaxDatagram)};
  return rsockets::post_receive(qp_.get(), kReceive | slot, to);
}

bool DatagramEndpoint::take(std::vector<Received>& out) {
  return cq_.poll([&](const ibv_wc& wc) {
    if ((wc.wr_id & kWhose) != kReceive) return sent(wc);
    const auto slot = octets_of(wc.wr_id);
    if (wc.status != IBV_WC_SUCCESS || wc.byte_len < kRoute) {
      (void)post_receive(slot);
      return;
    }
    ibv_grh route{};
    std::memcpy(&route, routes_.octets().subspan(slot * kRoute).data(), kRoute);
    const ibv_gid from = sender_of(route);
    Received got{.slot = slot,
                 .from = {},
                 .octets = slot_of(receive_memory_, slot).first(wc.byte_len - kRoute)};
    std::ranges::copy(from.raw, got.from.ip.begin());
    out.push_back(got);
  }) > 0;
}

// Handles the completion of a send. If the send has failed, its message is lost, and this function
// moves the queue pair back to RTS, so that later messages can be sent.
void DatagramEndpoint::sent(const ibv_wc& wc) {
  free_sends_.push_back(octets_of(wc.wr_id));
  if (wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR) return;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  (void)ibv_modify_qp(qp_.get(), &attr, IBV_QP_STATE);
}

int DatagramEndpoint::send(std::size_t length, const Peer& to) {
  const std::uint32_t slot = free_sends_.back();
  ibv_sge sge = send_memory_.sge(slot * kMaxDatagram, static_cast<std::uint32_t>(length));
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
  const int code = ibv_post_send(qp_.get(), &wr, &bad);
  if (code == 0) free_sends_.pop_back();
  return code;
}

}  // namespace iwarp::rdma_core::rsockets
