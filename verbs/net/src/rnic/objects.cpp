// SPDX-License-Identifier: Apache-2.0
// Creates and destroys the objects of an Rnic: domains, memory and queues. Checks each request, and
// allocates all scarce resources within their limits. [SEC-1] [SEC-2] [SEC-21] [DDP-100] [DDP-101]
// [RDMAP-120] [RDMAP-121]
//
// Users of an Rnic do not trust each other: no two users share an object unless the application has
// shared it. [SEC-3] [DDP-102] [RDMAP-122]
#include <cassert>

#include "channels/completion_channel_impl.hpp"
#include "driver/held_notices.hpp"
#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/other_end.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "memory/application_memory.hpp"
#include "rnic/impl.hpp"

namespace iwarp::net {
namespace {

using verbs::Errc;
using verbs::Region;

constexpr Access kLocalAndRemoteRead =
    Access::kRemoteRead | Access::kBindWindow | Access::kZeroBased | Access::kRemoteInvalidate;

bool needs_writing(Access access) {
  return has(access, Access::kLocalWrite) || has(access, Access::kRemoteWrite) ||
         has(access, Access::kRemoteAtomic);
}

constexpr verbs::QpNum kQpNumMask = 0xFFFFFF;

bool within(const verbs::QpInit& init, const RnicOptions& options) {
  const auto& limits = init.limits;
  return limits.max_send_wr <= options.max_wr && limits.max_recv_wr <= options.max_wr &&
         limits.max_send_sge <= bytes::kMaxSge && limits.max_recv_sge <= bytes::kMaxSge &&
         limits.max_inline <= 4096 && (init.num & ~kQpNumMask) == 0;
}

Expected<Memory> create(Rnic& rnic, const verbs::StagTable::NewRegion& what) {
  return with_resources([&]() -> Expected<Memory> {
    auto region = rnic.impl().stags.create(what);
    if (!region) return std::unexpected(region.error());
    return Memory(&rnic, *region);
  });
}

}  // namespace

// Protection domains ------------------------------------------------------------------------------

Expected<std::unique_ptr<ProtectionDomain>> Rnic::alloc_pd() {
  return with_resources([this]() -> Expected<std::unique_ptr<ProtectionDomain>> {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->pds == impl_->options.max_pds) return refuse(Errc::kLimitReached);
    auto pd = std::make_unique<ProtectionDomain>(*this, impl_->next_pd);
    ++impl_->pds;
    ++impl_->next_pd;
    return pd;
  });
}

ProtectionDomain::~ProtectionDomain() {
  const std::lock_guard lock(rnic_.impl().mutex);
  --rnic_.impl().pds;
}

// Memory ------------------------------------------------------------------------------------------

Expected<Memory> Rnic::register_memory(ProtectionDomain& pd, std::span<std::byte> octets,
                                       Access access, const MemoryOptions& options) {
  // Before an STag exists, check that the process may access the memory. [DDP-103] [RDMAP-123]
  // [SEC-33]
  if (!is_mapped(octets, needs_writing(access))) return refuse(Errc::kInvalidArgument);
  if (impl_->options.catch_faults) catch_faults();
  const auto* const only_for = options.only_for;
  if (only_for != nullptr && only_for->pd() != pd.id()) return refuse(Errc::kWrongPd);
  // The new STag refers to these octets, and is valid on all streams of this domain, or only on the
  // stream of `only_for`. [DDP-86] [DDP-96]
  return create(*this, {.kind = Region::Kind::kRegion,
                        .pd = pd.id(),
                        .qp = only_for != nullptr ? only_for->num() : 0,
                        .address = octets.data(),
                        .length = octets.size(),
                        .access = access,
                        .iova = options.iova});
}

Expected<Memory> Rnic::register_memory(ProtectionDomain& pd, std::span<const std::byte> octets,
                                       Access access, const MemoryOptions& options) {
  if (!has(kLocalAndRemoteRead, access)) return refuse(Errc::kInvalidArgument);
  // `access` has no right to write, so nothing is written through this pointer.
  return register_memory(pd, std::span(const_cast<std::byte*>(octets.data()), octets.size()),
                         access, options);
}

Expected<Memory> Rnic::allocate_fast_region(ProtectionDomain& pd) {
  return create(*this, {.kind = Region::Kind::kFastRegion, .pd = pd.id()});
}

Expected<Memory> Rnic::allocate_window(ProtectionDomain& pd) {
  return create(*this, {.kind = Region::Kind::kWindow, .pd = pd.id()});
}

Memory::Memory(Memory&& o) noexcept
    : rnic_(std::exchange(o.rnic_, nullptr)), region_(std::exchange(o.region_, nullptr)) {}

Memory& Memory::operator=(Memory&& o) noexcept {
  if (this != &o) {
    (void)deregister();
    rnic_ = std::exchange(o.rnic_, nullptr);
    region_ = std::exchange(o.region_, nullptr);
  }
  return *this;
}

Memory::~Memory() { (void)deregister(); }

verbs::Stag Memory::stag() const { return verbs::Stag{region_->stag.load()}; }
std::byte* Memory::address() const { return region_->address; }
std::uint64_t Memory::length() const { return region_->length; }

std::uint64_t Memory::to(const std::byte* at) const {
  return region_->to_base + static_cast<std::uint64_t>(at - region_->address);
}

bool Memory::valid() const { return region_ != nullptr && region_->valid.load(); }

std::error_code Memory::change(const ProtectionDomain& pd, Access access) {
  const std::span<const std::byte> octets(address(), length());
  if (!is_mapped(octets, needs_writing(access))) return make_error_code(Errc::kInvalidArgument);
  auto& impl = rnic_->impl();
  impl.send_posted();
  const bool leaves = region_->pd.load() != pd.id();
  const bool loses = !has(access, region_->access.load());
  if (const auto error = impl.stags.change(region_, pd.id(), access)) return error;
  if ((!leaves && !loses) || region_->pins.load() == 0) return {};
  for (const auto& connection : impl.live()) {
    if (leaves) {
      connection->revoke(*region_);  // [SEC-14]
    } else {
      connection->withdraw(*region_);
    }
  }
  return {};
}

std::error_code Memory::deregister() {
  if (region_ == nullptr) return {};
  auto& impl = rnic_->impl();
  impl.send_posted();
  const auto error = impl.stags.destroy(region_, [&impl](Region& region) {
    for (const auto& connection : impl.live()) connection->revoke(region);  // [SEC-14]
  });
  if (!error) region_ = nullptr;
  return error;
}

// Queues ------------------------------------------------------------------------------------------

Expected<std::unique_ptr<CompletionChannel>> Rnic::create_channel() {
  return with_resources([]() -> Expected<std::unique_ptr<CompletionChannel>> {
    return std::make_unique<CompletionChannel>();
  });
}

Expected<CmChannelHandle> Rnic::create_cm_channel() {
  return with_resources(
      []() -> Expected<CmChannelHandle> { return std::make_unique<CmChannel>(); });
}

// The only function that allocates the entries of a completion queue. [SEC-23] [RDMAP-124]
Expected<CqHandle> Rnic::create_cq(std::size_t capacity, CompletionChannel* channel) {
  std::function<void(CompletionQueue&)> notify;
  if (channel != nullptr) {
    notify = [events = &channel->impl().events](CompletionQueue& cq) {
      ChannelPort::push(*events, &cq);
    };
  }
  auto cq = create_cq(capacity, std::move(notify));
  if (!cq || channel == nullptr) return cq;
  return with_resources([&]() -> Expected<CqHandle> {
    std::shared_ptr<CqFeed> feed;
    {
      const std::lock_guard lock(impl_->mutex);
      auto& record = impl_->cqs.at(cq->get());
      ChannelPort::reserve(channel->impl().events);
      record.channel = channel;
      feed = record.feed;
    }
    channel->impl().add(std::move(feed));
    return std::move(cq);
  });
}

Expected<CqHandle> Rnic::create_cq(std::size_t capacity,
                                   std::function<void(CompletionQueue&)> notify) {
  if (capacity == 0 || capacity > impl_->options.max_cqe) return refuse(Errc::kInvalidArgument);
  return with_resources([&]() -> Expected<CqHandle> {
    auto feed = std::make_shared<CqFeed>(impl_->pick_worker());
    auto self = std::make_shared<CompletionQueue*>(nullptr);
    auto cq = std::make_unique<CompletionQueue>(capacity, [notify = std::move(notify), self] {
      if (notify) HeldNotices::tell(notify, **self);
    });
    *self = cq.get();
    feed->feeds(*cq);
    verbs::CompletionQueuePort::set_progress(*cq, feed.get());
    // Make the handle last, when no step can fail any more. If a later step failed, the handle's
    // deleter would run. The deleter takes the lock, which this thread holds, and requires the
    // queue to be in the registry.
    const std::lock_guard lock(impl_->mutex);
    if (impl_->cqs.size() == impl_->options.max_cqs) return refuse(Errc::kLimitReached);
    ChannelPort::reserve(impl_->async);
    impl_->cqs[cq.get()] = {.feed = std::move(feed)};
    return CqHandle(cq.release(), RnicDeleter{this});
  });
}

void RnicDeleter::operator()(CompletionQueue* cq) const { rnic->impl().destroy(cq); }

void Rnic::Impl::destroy(verbs::CompletionQueue* cq) {
  assert(verbs::CompletionQueuePort::attached(*cq) == 0 &&
         "queue pairs end before their completion queues");
  CqRecord record;
  {
    const std::lock_guard lock(mutex);
    const auto it = cqs.find(cq);
    record = std::move(it->second);
    cqs.erase(it);
  }
  verbs::CompletionQueuePort::set_progress(*cq, nullptr);
  record.feed->stop();
  if (record.channel != nullptr) {
    auto& channel = record.channel->impl();
    channel.remove(record.feed.get());
    ChannelPort::remove(channel.events,
                        [cq](const verbs::CompletionQueue* of) { return of == cq; });
    ChannelPort::unreserve(channel.events);
  }
  ChannelPort::remove(async, [cq](const verbs::AsyncEvent& event) { return event.object == cq; });
  ChannelPort::unreserve(async);
  delete cq;
}

Expected<SrqHandle> Rnic::create_srq(ProtectionDomain& pd,
                                     const SharedReceiveQueue::Limits& limits) {
  if (limits.max_wr == 0 || limits.max_wr > impl_->options.max_wr ||
      limits.max_sge > bytes::kMaxSge) {
    return refuse(Errc::kInvalidArgument);
  }
  return with_resources([&]() -> Expected<SrqHandle> {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->srqs == impl_->options.max_srqs) return refuse(Errc::kLimitReached);
    auto* const impl = impl_.get();
    auto srq =
        std::make_unique<SharedReceiveQueue>(pd.id(), limits, [impl](SharedReceiveQueue& of) {
          ChannelPort::push(impl->async, {.type = verbs::AsyncEventType::kSrqLimit, .object = &of});
        });
    ChannelPort::reserve(impl_->async);
    ++impl_->srqs;
    return SrqHandle(srq.release(), RnicDeleter{this});
  });
}

void RnicDeleter::operator()(SharedReceiveQueue* srq) const { rnic->impl().destroy(srq); }

void Rnic::Impl::destroy(verbs::SharedReceiveQueue* srq) {
  assert(verbs::SharedReceiveQueuePort::attached(*srq) == 0 &&
         "queue pairs end before their shared receive queue");
  {
    const std::lock_guard lock(mutex);
    --srqs;
  }
  ChannelPort::remove(async, [srq](const verbs::AsyncEvent& event) { return event.object == srq; });
  ChannelPort::unreserve(async);
  delete srq;
}

// Queue pairs -------------------------------------------------------------------------------------

Expected<QpHandle> Rnic::create_qp(ProtectionDomain& pd, verbs::QpInit init) {
  if (init.send_cq == nullptr || init.recv_cq == nullptr || !within(init, impl_->options)) {
    return refuse(Errc::kInvalidArgument);
  }
  init.pd = pd.id();
  return with_resources([&]() -> Expected<QpHandle> {
    const std::lock_guard lock(impl_->mutex);
    // The completion queues must belong to this device. [SEC-30] [RDMAP-116]
    if (!impl_->cqs.contains(init.send_cq) || !impl_->cqs.contains(init.recv_cq)) {
      return refuse(Errc::kInvalidArgument);
    }
    if (impl_->qps.size() == impl_->options.max_qps) return refuse(Errc::kLimitReached);
    if (impl_->qp_numbers.contains(init.num)) return refuse(Errc::kInvalidArgument);
    if (init.num == 0) init.num = impl_->next_number();
    auto* const impl = impl_.get();
    auto qp = std::make_unique<QueuePair>(
        init.num, init, impl_->stags,
        [impl](const verbs::AsyncEvent& event) { ChannelPort::push(impl->async, event); });
    // Statistics::devices needs an entry that allocates no memory when a connection ends.
    if (init.device != nullptr) impl_->over.devices.try_emplace(init.device);
    ChannelPort::reserve(impl_->async);
    const auto number = impl_->qp_numbers.insert(init.num).first;
    try {
      impl_->qps.try_emplace(qp.get());
    } catch (...) {
      ChannelPort::unreserve(impl_->async);
      impl_->qp_numbers.erase(number);
      throw;
    }
    return QpHandle(qp.release(), RnicDeleter{this});
  });
}

Expected<QpHandle> create_other_end(Rnic& rnic, const QueuePair& of) {
  auto& impl = rnic.impl();
  verbs::QpInit init = of.init();
  init.srq = nullptr;
  init.limits.max_recv_wr = 0;
  init.inbound = Access::kNone;
  return with_resources([&]() -> Expected<QpHandle> {
    const std::lock_guard lock(impl.mutex);
    if (impl.qps.size() == impl.options.max_qps) return refuse(Errc::kLimitReached);
    auto qp =
        std::make_unique<QueuePair>(of.num(), init, impl.stags, [](const verbs::AsyncEvent&) {});
    impl.qps.try_emplace(qp.get()).first->second.other_end = true;
    return QpHandle(qp.release(), RnicDeleter{&rnic});
  });
}

verbs::QpNum Rnic::Impl::next_number() {
  while (next_qp == 0 || qp_numbers.contains(next_qp)) next_qp = (next_qp + 1) & kQpNumMask;
  return std::exchange(next_qp, (next_qp + 1) & kQpNumMask);
}

void RnicDeleter::operator()(QueuePair* qp) const { rnic->impl().destroy(qp); }

void Rnic::Impl::destroy(verbs::QueuePair* qp) {
  std::shared_ptr<Connector> connector;
  {
    const std::lock_guard lock(mutex);
    connector = qps.at(qp).connector;
  }
  if (connector != nullptr) connector->cancel();
  QpRecord record;
  {
    // After this block, no more connections can be attached to the queue pair.
    const std::lock_guard lock(mutex);
    record = std::move(qps.at(qp));
    qps.erase(qp);
    if (!record.other_end) qp_numbers.erase(qp->num());
  }
  for (const auto& connection : record.connections) connection->end();
  for (CmChannel* channel : record.channels) {
    ChannelPort::remove(*channel, [qp](const CmEvent& event) { return event.qp == qp; });
  }
  if (!record.other_end) {
    ChannelPort::remove(
        async, [num = qp->num()](const verbs::AsyncEvent& event) { return event.qp_num == num; });
    ChannelPort::unreserve(async);
  }
  delete qp;
}

}  // namespace iwarp::net
