// SPDX-License-Identifier: Apache-2.0
// The stream's half of a queue pair, inbound: which memory the peer's Writes, Reads and Atomics may
// use, and which receive its Sends take (verbs draft section 8). Under the connection's lock.
#include <atomic>

#include "iwarp/rdmap/faults.hpp"
#include "queue_pair_impl.hpp"

namespace iwarp::verbs {

using bytes::fault;
using bytes::Result;

// Memory ------------------------------------------------------------------------------------------

std::expected<bytes::Span, AccessError> QueuePair::write_target(Stag stag, rdmap::TaggedOffset to,
                                                                std::uint32_t length) {
  if (!has(inbound_.load(), Access::kRemoteWrite)) return std::unexpected(AccessError::kNoRight);
  auto grant =
      stags_.acquire({.pd = init_.pd, .qp = num_, .remote = true, .need = Access::kRemoteWrite},
                     stag, to.value, length);
  if (!grant) return std::unexpected(grant.error());
  impl_->target = std::move(*grant);
  impl_->octets_placed += length;
  return impl_->target.memory();
}

void QueuePair::release_target() { impl_->target.release(); }

std::expected<bytes::View, AccessError> QueuePair::read_source(Stag stag, rdmap::TaggedOffset to,
                                                               std::uint32_t length) {
  if (!has(inbound_.load(), Access::kRemoteRead)) return std::unexpected(AccessError::kNoRight);
  auto grant =
      stags_.acquire({.pd = init_.pd, .qp = num_, .remote = true, .need = Access::kRemoteRead},
                     stag, to.value, length);
  if (!grant) return std::unexpected(grant.error());
  impl_->source = std::move(*grant);
  return bytes::View(impl_->source.memory());
}

void QueuePair::release_source() { impl_->source.release(); }

// The compare-exchange is what keeps Atomics of all connections, and of the program's own threads,
// from coming between the two halves of this one. [EXT-4] [EXT-40] [EXT-42] [EXT-67]
std::expected<std::uint64_t, AccessError> QueuePair::atomic(const rdmap::AtomicRequest& request) {
  if (!has(inbound_.load(), Access::kRemoteAtomic)) return std::unexpected(AccessError::kNoRight);
  const auto grant =
      stags_.acquire({.pd = init_.pd, .qp = num_, .remote = true, .need = Access::kRemoteAtomic},
                     request.stag, request.to.value, rdmap::kAtomicWord);
  if (!grant) return std::unexpected(grant.error());
  std::byte* const memory = grant->memory().data();
  // An aligned TO says nothing about the memory of a region whose base is odd. [EXT-9] [EXT-15]
  if (virtual_address(memory) % rdmap::kAtomicWord != 0) {
    return std::unexpected(AccessError::kMisaligned);
  }
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory));
  std::uint64_t original = word.load();
  while (true) {
    const auto next = rdmap::apply(request, original);
    if (next == original || word.compare_exchange_weak(original, next)) return original;
  }
}

// Sends and Immediates ----------------------------------------------------------------------------

Result<ddp::UntaggedBuffer> QueuePair::receive_buffer() {
  if (!take_receive()) {
    if (impl_->hold_on_empty) return ddp::UntaggedBuffer{.pieces = {}, .ready = false};
    return fault(ddp::kUntaggedNoBuffer);
  }
  if (!resolve_receive()) {
    complete_receive({.status = WcStatus::kLocalProtection, .opcode = WcOpcode::kRecv});
    return fault(ddp::kDdpCatastrophic);
  }
  ddp::UntaggedBuffer buffer;
  for (const Grant& grant : impl_->receive_grants) buffer.pieces.push_back(grant.memory());
  return buffer;
}

bool QueuePair::take_receive() {
  if (init_.srq == nullptr) {
    impl_->receive = impl_->rq.take();
    return impl_->receive.has_value();
  }
  // A peer that eats the shared receives is stopped at its queue pair's cap. [SEC-22]
  const auto cap = init_.srq->limits().per_qp;
  if (cap != 0 && impl_->srq_taken - impl_->srq_reaped.load() >= cap) return false;
  impl_->receive = init_.srq->take();
  if (impl_->receive) ++impl_->srq_taken;
  return impl_->receive.has_value();
}

bool QueuePair::resolve_receive() {
  const AccessRequest who{.pd = init_.srq != nullptr ? init_.srq->pd() : init_.pd,
                          .qp = num_,
                          .remote = false,
                          .need = Access::kLocalWrite};
  impl_->receive_grants.clear();
  for (const Sge& sge : impl_->receive->sgl) {
    if (sge.length == 0) continue;
    auto grant = stags_.acquire(who, sge.lkey, virtual_address(sge.address), sge.length);
    if (!grant) return false;
    impl_->receive_grants.push_back(std::move(*grant));
  }
  return true;
}

Result<void> QueuePair::send_received(const rdmap::ReceivedSend& send) {
  impl_->receive_grants.clear();
  impl_->octets_placed += send.length;
  const WorkCompletion wc{
      .status = WcStatus::kSuccess,
      .opcode = rdmap::is_immediate(send.opcode) ? WcOpcode::kRecvImmediate : WcOpcode::kRecv,
      .byte_len = send.length,
      .solicited = send.solicited,
      .invalidated = send.invalidate,
      .invalidated_stag = send.invalidated,
      .immediate = send.immediate};
  if (send.invalidate) {
    // After the payload was delivered, before the receive completes. [VRB-47] [RDMAP-58]
    const auto done = stags_.invalidate(init_.pd, num_, send.invalidated, true);
    if (done == StagTable::Invalidated::kRefused) return fault(rdmap::kCannotInvalidate);
    if (done == StagTable::Invalidated::kPinned) {
      impl_->invalidating = wc;  // Somebody still lets go of it: see finish_invalidate().
      return {};
    }
  }
  complete_receive(wc);
  return {};
}

bool QueuePair::finish_invalidate() {
  if (!impl_->invalidating) return true;
  const WorkCompletion wc = *impl_->invalidating;
  // The STag is dead since the Send came; what is left is that nobody holds its memory. [SEC-14]
  const auto done = stags_.invalidate(init_.pd, num_, wc.invalidated_stag, false);
  if (done == StagTable::Invalidated::kPinned) return false;
  impl_->invalidating.reset();
  complete_receive(wc);
  return true;
}

void QueuePair::complete_receive(WorkCompletion wc) {
  wc.wr_id = impl_->receive->wr_id;
  wc.qp_num = num_;
  impl_->receive.reset();
  impl_->receive_grants.clear();
  const CompletionQueue::Reaped reaped =
      init_.srq != nullptr
          ? CompletionQueue::Reaped{.counter = &impl_->srq_reaped, .value = impl_->srq_taken}
          : CompletionQueue::Reaped{.counter = &impl_->rq.reaped(), .value = impl_->rq.taken()};
  push(*init_.recv_cq, wc, wc.solicited || wc.status != WcStatus::kSuccess, reaped);
}

}  // namespace iwarp::verbs
