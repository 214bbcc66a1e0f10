// SPDX-License-Identifier: Apache-2.0
// Functions of class Endpoint that set up the connection, and functions that send.
#include "rsockets/streams/endpoint.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "cm/id.hpp"
#include "device/limits.hpp"
#include "qp/rc.hpp"
#include "rsockets/common/work_ids.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint16_t kMinRequests = 16;
constexpr std::uint32_t kMinRing = 4096;

[[noreturn]] void fail_with(int code) { throw std::system_error(code, std::generic_category()); }

/// Returns whether the connection supports Writes with immediate data. It does if the program sees
/// a RoCE adapter, and the peer has agreed to RFC 7306. The connection must be established.
bool has_immediates(const rdma_cm_id& id) {
  return id.verbs->device->transport_type != IBV_TRANSPORT_IWARP &&
         static_cast<RcQp&>(Qp::of(id.qp)).core->query().extensions;
}

Sizes& bounded(Sizes& sizes) {
  const auto bound = [](std::uint32_t value, std::uint32_t least, std::uint32_t most) {
    return std::clamp(value, least, most);
  };
  constexpr std::uint32_t kMostRequests = kMaxWr - 64;
  const auto requests = [&](std::uint16_t value) {
    return static_cast<std::uint16_t>(bound(value, kMinRequests, kMostRequests));
  };
  sizes.send_requests = requests(sizes.send_requests);
  sizes.receives = requests(sizes.receives);
  sizes.inline_octets =
      static_cast<std::uint16_t>(bound(sizes.inline_octets, sizeof(std::uint32_t), kMaxInline));
  sizes.send_ring = bound(sizes.send_ring, kMinRing, kMaxValue);
  sizes.receive_ring = bound(sizes.receive_ring, kMinRing, kMaxValue) & ~1U;
  return sizes;
}

}  // namespace

Endpoint::Endpoint(rdma_cm_id* id, Sizes& sizes)
    : id_(id),
      credits_(bounded(sizes).receives),
      send_ring_(sizes.send_ring),
      receive_ring_(sizes.receive_ring),
      tables_(kTargets * kTargetSize + sizes.mappings * kMappingSize),
      slots_((credits_ + kControlReceives) * sizeof(std::uint32_t)),
      inbound_(sizes.receive_ring, credits_),
      mappings_(sizes.mappings) {
  CmId::of(id).is_rsocket = true;
  try {
    make_queue(sizes);
    constexpr int kTheirs = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    send_mr_ = registered(send_ring_, IBV_ACCESS_LOCAL_WRITE);
    receive_mr_ = registered(receive_ring_, kTheirs);
    tables_mr_ = registered(tables_, kTheirs);
    slots_mr_ = registered(slots_, IBV_ACCESS_LOCAL_WRITE);
    for (std::size_t slot = 0; slot < receives(); ++slot) {
      if (const int code = post_receive(slot)) fail_with(code);
    }
  } catch (...) {
    release();
    throw;
  }
}

Endpoint::~Endpoint() { release(); }

void Endpoint::make_queue(Sizes& sizes) {
  const int entries = sizes.send_requests + static_cast<int>(receives());
  id_->recv_cq_channel = ibv_create_comp_channel(id_->verbs);
  if (id_->recv_cq_channel == nullptr) fail_with(errno);
  id_->send_cq_channel = id_->recv_cq_channel;
  if (::fcntl(fd(), F_SETFL, O_NONBLOCK) != 0) fail_with(errno);
  id_->recv_cq = ibv_create_cq(id_->verbs, entries, nullptr, id_->recv_cq_channel, 0);
  if (id_->recv_cq == nullptr) fail_with(errno);
  id_->send_cq = id_->recv_cq;
  ibv_qp_init_attr attr{};
  attr.send_cq = id_->send_cq;
  attr.recv_cq = id_->recv_cq;
  attr.qp_type = IBV_QPT_RC;
  attr.sq_sig_all = 1;
  attr.cap.max_send_wr = sizes.send_requests;
  attr.cap.max_recv_wr = static_cast<std::uint32_t>(receives());
  attr.cap.max_send_sge = 1;
  attr.cap.max_recv_sge = 1;
  attr.cap.max_inline_data = std::max<std::uint32_t>(sizes.inline_octets, kMappingSize);
  if (rdma_create_qp(id_, nullptr, &attr) != 0) fail_with(errno);
  requests_ = sizes.send_requests - kControlRequests;
}

ibv_mr* Endpoint::registered(const Pages& pages, int access) {
  ibv_mr* const mr = ibv_reg_mr(id_->pd, pages.data(), pages.size(), access);
  if (mr == nullptr) fail_with(errno);
  return mr;
}

void Endpoint::release() {
  rdma_destroy_qp(id_);
  for (ibv_mr** mr : {&send_mr_, &receive_mr_, &tables_mr_, &slots_mr_}) {
    if (*mr != nullptr) ibv_dereg_mr(std::exchange(*mr, nullptr));
  }
}

Greeting Endpoint::greeting() const {
  return {.credits = credits_,
          .mappings = static_cast<std::uint32_t>(mappings_.size()),
          .table = {address_of(tables_.data()), tables_mr_->rkey, kTargets},
          .buffer = {address_of(receive_ring_.data()), receive_mr_->rkey,
                     static_cast<std::uint32_t>(receive_ring_.size() / 2)}};
}

void Endpoint::start(const Greeting& peer) {
  peer_ = peer;
  by_sends_ = !has_immediates(*id_);
  outbound_.emplace(Outbound::Options{.ring = static_cast<std::uint32_t>(send_ring_.size()),
                                      .requests = requests_,
                                      .per_message = by_sends_ ? 2U : 1U,
                                      .credits = peer.credits,
                                      .first = peer.buffer});
}

int Endpoint::post(ibv_send_wr& wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(id_->qp, &wr, &bad);
}

int Endpoint::post_message(Message message, std::uint64_t wr_id) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  if (!by_sends_) {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = big_endian(pack(message));
    wr.wr.rdma.remote_addr = peer_.table.address;
    wr.wr.rdma.rkey = peer_.table.key;
    return post(wr);
  }
  const auto octets = encode(pack(message), peer_.order);
  ibv_sge sge{address_of(octets.data()), static_cast<std::uint32_t>(octets.size()), 0};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE;
  return post(wr);
}

// Posts a Write. If `message` is not nullopt, the peer gets this message after the data of the
// Write has been placed.
int Endpoint::post_write(const ibv_sge& from, unsigned flags, std::uint64_t to, std::uint32_t key,
                         std::optional<Message> message, std::uint64_t wr_id) {
  ibv_sge sge = from;
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = sge.length != 0 ? 1 : 0;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = flags;
  wr.wr.rdma.remote_addr = to;
  wr.wr.rdma.rkey = key;
  if (message && !by_sends_) {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = big_endian(pack(*message));
  }
  const int code = post(wr);
  if (code != 0 || !message || !by_sends_) return code;
  return post_message(*message, without_octets(wr_id));
}

int Endpoint::write_piece(const Outbound::Piece& piece) {
  const ibv_sge from{address_of(send_ring_.data() + piece.at), piece.length, send_mr_->lkey};
  return post_write(from, 0, piece.address, piece.key, Message{Kind::kData, piece.length},
                    request_of_ring(piece.length));
}

std::expected<std::size_t, int> Endpoint::send_direct(std::span<const std::byte> from,
                                                      std::uint64_t offset) {
  const auto it = std::ranges::find_if(mappings_, [offset](const Mapping& mapping) {
    return offset >= mapping.offset && offset - mapping.offset < mapping.target.length;
  });
  if (it == mappings_.end()) return std::unexpected(EINVAL);
  const std::uint64_t skip = offset - it->offset;
  const auto wanted = std::min<std::uint64_t>(from.size(), it->target.length - skip);
  const auto piece = outbound_->take_direct(wanted, it->target.address + skip, it->target.key);
  if (!piece) return 0;
  std::memcpy(send_ring_.data() + piece->at, from.data(), piece->length);
  const ibv_sge sge{address_of(send_ring_.data() + piece->at), piece->length, send_mr_->lkey};
  const int code =
      post_write(sge, 0, piece->address, piece->key, std::nullopt, request_of_ring(piece->length));
  if (code != 0) return std::unexpected(code);
  return piece->length;
}

int Endpoint::control(Control what) {
  --control_free_;
  return post_message({Kind::kControl, static_cast<std::uint32_t>(what)}, kControlRequest);
}

int Endpoint::keep_alive() {
  if (!can_control()) return 0;
  --control_free_;
  return post_write({}, 0, peer_.table.address, peer_.table.key, std::nullopt, kControlRequest);
}

int Endpoint::map(std::uint32_t index, const Mapping& mapping) {
  if (!outbound_->take_message()) return EAGAIN;
  const auto octets = encode(mapping, peer_.order);
  const ibv_sge from{address_of(octets.data()), static_cast<std::uint32_t>(octets.size()), 0};
  const std::uint64_t to = peer_.table.address + std::uint64_t{peer_.table.length} * kTargetSize +
                           std::uint64_t{index} * kMappingSize;
  return post_write(from, IBV_SEND_INLINE, to, peer_.table.key, Message{Kind::kMapping, index},
                    request_of_ring(0));
}

int Endpoint::give_back() {
  while (inbound_.grant_due()) {
    const unsigned needed = inbound_.half_is_free() && by_sends_ ? 2 : 1;
    if (control_free_ < needed) return 0;
    control_free_ -= needed;
    const auto grant = inbound_.grant();
    const Message message{Kind::kCredits, grant.limit};
    if (!grant.half) return post_message(message, kControlRequest);
    const Target target{address_of(receive_ring_.data() + *grant.half), receive_mr_->rkey,
                        static_cast<std::uint32_t>(receive_ring_.size() / 2)};
    const auto octets = encode(target, peer_.order);
    const ibv_sge from{address_of(octets.data()), static_cast<std::uint32_t>(octets.size()), 0};
    const std::uint64_t to = peer_.table.address + std::uint64_t{peer_entry_} * kTargetSize;
    peer_entry_ = (peer_entry_ + 1) % peer_.table.length;
    const int code =
        post_write(from, IBV_SEND_INLINE, to, peer_.table.key, message, kControlRequest);
    if (code != 0) return code;
  }
  return 0;
}

std::size_t Endpoint::copy_to(std::span<std::byte> to, std::size_t skip) const {
  const std::size_t wanted = std::min(to.size(), readable() - skip);
  std::size_t done = 0;
  while (done < wanted) {
    const auto part = inbound_.next(wanted - done, skip + done);
    std::memcpy(to.data() + done, receive_ring_.data() + part.at, part.length);
    done += part.length;
  }
  return done;
}

int Endpoint::consume(std::size_t length) {
  inbound_.consume(length);
  return give_back();
}

void Endpoint::break_off() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  (void)ibv_modify_qp(id_->qp, &attr, IBV_QP_STATE);
}

}  // namespace iwarp::rdma_core::rsockets
