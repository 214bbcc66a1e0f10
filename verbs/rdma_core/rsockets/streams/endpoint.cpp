// SPDX-License-Identifier: Apache-2.0
// Functions of class Endpoint: first those that set up the connection and send, then those that
// receive. All messages of the peer are validated in this file, or in Inbound and Outbound. An
// invalid message causes the error EPROTO. The peer can change the entries of the tables at any
// time. So an entry is read only once, when a message announces it.
#include "rsockets/streams/endpoint.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cm/id.hpp"
#include "device/limits.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

constexpr std::uint16_t kMinRequests = 16;
constexpr std::uint32_t kMinRing = 4096;

constexpr int kForPeer = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

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

// Returns the errno for a failed completion. If the peer no longer exists, the status is
// IBV_WC_WR_FLUSH_ERR. With Completions::kAcknowledged, it may also be IBV_WC_RETRY_EXC_ERR.
int error_of(ibv_wc_status status) {
  const bool is_gone = status == IBV_WC_WR_FLUSH_ERR || status == IBV_WC_RETRY_EXC_ERR;
  return is_gone ? ECONNRESET : EIO;
}

}  // namespace

Endpoint::Endpoint(rdma_cm_id* id, Sizes& sizes)
    : id_(id),
      credits_(bounded(sizes).receives),
      requests_(sizes.send_requests - kControlRequests),
      send_ring_(id->pd, sizes.send_ring, IBV_ACCESS_LOCAL_WRITE),
      receive_ring_(id->pd, sizes.receive_ring, kForPeer),
      tables_(id->pd, kTargets * kTargetSize + sizes.mappings * kMappingSize, kForPeer),
      slots_(id->pd, receives() * kMessageSize, IBV_ACCESS_LOCAL_WRITE),
      cq_(id->verbs, static_cast<int>(sizes.send_requests + receives())),
      inbound_(sizes.receive_ring, credits_),
      mappings_(sizes.mappings) {
  CmId::of(id).is_rsocket = true;
  ibv_qp_init_attr attr{};
  attr.send_cq = cq_.get();
  attr.recv_cq = cq_.get();
  attr.qp_type = IBV_QPT_RC;
  attr.sq_sig_all = 1;
  attr.cap.max_send_wr = sizes.send_requests;
  attr.cap.max_recv_wr = receives();
  attr.cap.max_send_sge = 1;
  attr.cap.max_recv_sge = 1;
  attr.cap.max_inline_data = std::max<std::uint32_t>(sizes.inline_octets, kMappingSize);
  if (rdma_create_qp(id, nullptr, &attr) != 0) fail(errno);
  qp_.reset(id);
  for (std::uint32_t slot = 0; slot < receives(); ++slot) {
    if (const int code = post_receive(slot)) fail(code);
  }
}

/// Returns the half of the receive ring that begins at the offset `at`, as the peer addresses it.
Target Endpoint::half_at(std::size_t at) const {
  return {address_of(receive_ring_.data() + at), receive_ring_.rkey(),
          static_cast<std::uint32_t>(receive_ring_.size() / 2)};
}

Greeting Endpoint::greeting() const {
  return {.credits = credits_,
          .mappings = static_cast<std::uint32_t>(mappings_.size()),
          .table = {address_of(tables_.data()), tables_.rkey(), kTargets},
          .buffer = half_at(0)};
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
    wr.imm_data = htonl(pack(message));
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
    wr.imm_data = htonl(pack(*message));
  }
  const int code = post(wr);
  if (code != 0 || !message || !by_sends_) return code;
  return post_message(*message, wr_id & kWhose);
}

int Endpoint::write_piece(const Outbound::Piece& piece, std::optional<Message> message) {
  return post_write(send_ring_.sge(piece.at, piece.length), 0, piece.address, piece.key, message,
                    request_of_ring(piece.length));
}

// Writes an entry at this offset of the peer's tables.
int Endpoint::write_table(std::span<const std::byte> entry, std::uint64_t offset, Message message,
                          std::uint64_t wr_id) {
  const ibv_sge from{address_of(entry.data()), static_cast<std::uint32_t>(entry.size()), 0};
  return post_write(from, IBV_SEND_INLINE, peer_.table.address + offset, peer_.table.key, message,
                    wr_id);
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
  if (const int code = write_piece(*piece, std::nullopt)) return std::unexpected(code);
  return piece->length;
}

int Endpoint::control(Control what) {
  --control_free_;
  return post_message({MessageType::kControl, static_cast<std::uint32_t>(what)}, kControlRequest);
}

int Endpoint::keep_alive() {
  if (!can_control()) return 0;
  --control_free_;
  return post_write({}, 0, peer_.table.address, peer_.table.key, std::nullopt, kControlRequest);
}

int Endpoint::map(std::uint32_t index, const Mapping& mapping) {
  if (!outbound_->take_message()) return EAGAIN;
  const std::uint64_t at =
      std::uint64_t{peer_.table.length} * kTargetSize + std::uint64_t{index} * kMappingSize;
  return write_table(encode(mapping, peer_.order), at, {MessageType::kMapping, index},
                     request_of_ring(0));
}

int Endpoint::give_back() {
  while (inbound_.grant_due()) {
    const unsigned needed = inbound_.half_is_free() && by_sends_ ? 2 : 1;
    if (control_free_ < needed) return 0;
    control_free_ -= needed;
    const auto grant = inbound_.grant();
    const Message message{MessageType::kCredits, grant.limit};
    if (!grant.half) return post_message(message, kControlRequest);
    const auto entry = encode(half_at(*grant.half), peer_.order);
    const std::uint64_t at = std::uint64_t{peer_entry_} * kTargetSize;
    peer_entry_ = (peer_entry_ + 1) % peer_.table.length;
    if (const int code = write_table(entry, at, message, kControlRequest)) return code;
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

int Endpoint::post_receive(std::uint64_t slot) {
  ibv_sge to = slots_.sge(slot * kMessageSize, kMessageSize);
  return rsockets::post_receive(id_->qp, kReceive | slot, {&to, 1});
}

Endpoint::Received Endpoint::listen() {
  Received got;
  if (!started()) return got;
  const int count = cq_.poll([&](const ibv_wc& wc) {
    got.anything = true;
    if ((wc.wr_id & kWhose) == kReceive) {
      received(wc, got);
    } else {
      sent(wc, got);
    }
  });
  if (count < 0 && got.error == 0) got.error = EIO;
  if (got.error == 0 && !got.disconnect) got.error = give_back();
  return got;
}

void Endpoint::received(const ibv_wc& wc, Received& got) {
  if (got.disconnect || got.error != 0) return;
  if (wc.status != IBV_WC_SUCCESS) {
    got.error = wc.status == IBV_WC_WR_FLUSH_ERR ? ECONNRESET : EPROTO;
    return;
  }
  const auto slot = octets_of(wc.wr_id);
  const bool immediate = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  if (!immediate && wc.byte_len != kMessageSize) {
    got.error = EPROTO;
    return;
  }
  const auto at = slots_.octets().subspan(slot * kMessageSize).first<kMessageSize>();
  const auto word = immediate ? ntohl(wc.imm_data) : decode_word(at, peer_.order);
  understand(unpack(word), got);
  if (got.error == 0 && !got.disconnect) got.error = post_receive(slot);
}

void Endpoint::sent(const ibv_wc& wc, Received& got) {
  if ((wc.wr_id & kWhose) == kControlRequest) {
    ++control_free_;
  } else {
    outbound_->completed(octets_of(wc.wr_id));
  }
  const bool over = got.disconnect || got.error != 0;
  if (wc.status != IBV_WC_SUCCESS && !over) got.error = error_of(wc.status);
}

void Endpoint::understand(Message message, Received& got) {
  bool sensible = false;
  switch (message.kind) {
    case MessageType::kData:
      sensible = inbound_.arrived(message.value);
      break;
    case MessageType::kCredits:
      sensible = take_credits(message.value);
      break;
    case MessageType::kMapping:
      sensible = take_mapping(message.value);
      break;
    case MessageType::kControl:
      got.disconnect = message.value == static_cast<std::uint32_t>(Control::kDisconnect);
      got.shutdown |= message.value == static_cast<std::uint32_t>(Control::kShutdown);
      sensible = message.value <= static_cast<std::uint32_t>(Control::kShutdown);
      break;
  }
  if (!sensible) got.error = EPROTO;
}

// Handles a message that grants credits. If the next entry of the table of targets is not empty,
// the message also grants the memory in this entry.
bool Endpoint::take_credits(std::uint32_t value) {
  if (!outbound_->allow(static_cast<std::uint16_t>(value))) return false;
  const auto entry = tables_.octets().subspan(own_entry_ * kTargetSize).first<kTargetSize>();
  const Target target = decode_target(entry, std::endian::native);
  if (target.length == 0) return true;
  if (!outbound_->add(target)) return false;
  const auto none = encode(Target{}, std::endian::native);
  std::copy(none.begin(), none.end(), entry.begin());
  own_entry_ = (own_entry_ + 1) % kTargets;
  return true;
}

bool Endpoint::take_mapping(std::uint32_t index) {
  if (index >= mappings_.size() || !inbound_.counted()) return false;
  const auto entry =
      tables_.octets().subspan(kTargets * kTargetSize + index * kMappingSize).first<kMappingSize>();
  mappings_[index] = decode_mapping(entry, std::endian::native);
  return true;
}

}  // namespace iwarp::rdma_core::rsockets
