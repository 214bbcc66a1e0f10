// SPDX-License-Identifier: Apache-2.0
// Functions of class Endpoint that receive. All messages of the peer are validated in this file, or
// in Inbound and Outbound. An invalid message causes the error EPROTO. The peer can change the
// entries of the tables at any time. So an entry is read only once, when a message announces it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "rsockets/common/work_ids.hpp"
#include "rsockets/streams/endpoint.hpp"

namespace iwarp::rdma_core::rsockets {
namespace {

// Limits the number of completions that one call handles. Without this limit, a peer that never
// stops sending could keep that call from returning.
constexpr int kRounds = 64;

// Returns the errno for a failed completion. If the peer no longer exists, the status is
// IBV_WC_WR_FLUSH_ERR. With Completions::kAcknowledged, it may also be IBV_WC_RETRY_EXC_ERR.
int error_of(ibv_wc_status status) {
  const bool is_gone = status == IBV_WC_WR_FLUSH_ERR || status == IBV_WC_RETRY_EXC_ERR;
  return is_gone ? ECONNRESET : EIO;
}

}  // namespace

int Endpoint::post_receive(std::uint64_t slot) {
  constexpr std::uint32_t kSize = sizeof(std::uint32_t);
  ibv_sge sge{address_of(slots_.data() + slot * kSize), kSize, slots_mr_->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = kReceive | slot;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(id_->qp, &wr, &bad);
}

Endpoint::Received Endpoint::listen() {
  Received got;
  if (!started()) return got;
  std::array<ibv_wc, 16> completions;
  for (int round = 0; round < kRounds && got.error == 0; ++round) {
    const int n =
        ibv_poll_cq(id_->recv_cq, static_cast<int>(completions.size()), completions.data());
    if (n < 0) got.error = EIO;
    if (n <= 0) break;
    got.anything = true;
    for (const ibv_wc& wc : std::span(completions).first(static_cast<std::size_t>(n))) {
      if ((wc.wr_id & kWhose) == kReceive) {
        received(wc, got);
      } else {
        sent(wc, got);
      }
    }
  }
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
  constexpr std::uint32_t kSize = sizeof(std::uint32_t);
  const bool immediate = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
  if (!immediate && wc.byte_len != kSize) {
    got.error = EPROTO;
    return;
  }
  const auto at = slots_.octets().subspan(slot * kSize).first<kSize>();
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
    case Kind::kData:
      sensible = inbound_.arrived(message.value);
      break;
    case Kind::kCredits:
      sensible = take_credits(message.value);
      break;
    case Kind::kMapping:
      sensible = take_mapping(message.value);
      break;
    case Kind::kControl:
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

void Endpoint::arm() {
  if (!armed_ && started()) armed_ = ibv_req_notify_cq(id_->recv_cq, 0) == 0;
}

bool Endpoint::take_events() {
  const bool taken = take_all_events(*id_->recv_cq_channel);
  if (taken) armed_ = false;
  return taken;
}

}  // namespace iwarp::rdma_core::rsockets
