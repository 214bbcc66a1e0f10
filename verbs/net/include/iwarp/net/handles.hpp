// SPDX-License-Identifier: Apache-2.0
// The objects of an Rnic that a program holds. Each ends with its handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::net {

using verbs::Access;
using verbs::CompletionQueue;
using verbs::QueuePair;
using verbs::SharedReceiveQueue;

class Rnic;

/// Protection domain: QPs, regions, windows and SRQs of one cannot touch those of another. [VRB-1]
class ProtectionDomain {
 public:
  ProtectionDomain(Rnic& rnic, verbs::PdId id) : rnic_(rnic), id_(id) {}
  ~ProtectionDomain();
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;
  verbs::PdId id() const { return id_; }

 private:
  Rnic& rnic_;
  verbs::PdId id_;
};

struct MemoryOptions {
  /// Ties the memory to that queue pair's stream: nobody else can use it remotely. [DDP-87]
  const QueuePair* only_for = nullptr;
  /// What the peer (as TO) and an Sge call the first octet; without it, its virtual address. Up to
  /// 2^64 there must be room for all octets; not together with Access::kZeroBased.
  std::optional<std::uint64_t> iova;
};

/// A region, fast-register region or window. Ends with its handle; movable.
class Memory {
 public:
  Memory() = default;
  Memory(Rnic* rnic, verbs::Region* region) : rnic_(rnic), region_(region) {}
  Memory(Memory&& o) noexcept;
  Memory& operator=(Memory&& o) noexcept;
  /// As deregister(); a region with bound windows stays registered until the Rnic ends.
  ~Memory();

  /// The STag: lkey and rkey at once.
  verbs::Stag stag() const { return verbs::Stag{region_->stag.load()}; }
  std::byte* address() const { return region_->address; }
  std::uint64_t length() const { return region_->length; }
  /// The TO of `at`, which lies inside the region: what to advertise to a peer.
  std::uint64_t to(const std::byte* at) const {
    return region_->to_base + static_cast<std::uint64_t>(at - region_->address);
  }
  bool valid() const { return region_ != nullptr && region_->valid.load(); }
  /// Gives a region other rights, or to another domain, under the STag that it has. Returns when no
  /// octet can be touched any more by a right or from a domain that it had before: a peer that is
  /// in the middle of that loses its connection, and so does a request from another domain.
  /// Fails with Errc::kInvalidArgument if the memory is not there, or not writable where `access`
  /// says so; with Errc::kBusy while windows are bound to it.
  std::error_code change(const ProtectionDomain& pd, Access access);
  /// Returns when no octet can be touched through it any more. Errc::kBusy: windows are bound.
  std::error_code deregister();

 private:
  Rnic* rnic_ = nullptr;
  verbs::Region* region_ = nullptr;
};

/// Ends a queue pair: closes its connection, flushes, waits for whoever drives it. What was
/// complete before still arrives: the connection is reset only when a message is half sent.
struct QpDeleter {
  Rnic* rnic = nullptr;
  void operator()(QueuePair* qp) const;
};
struct CqDeleter {
  Rnic* rnic = nullptr;
  void operator()(CompletionQueue* cq) const;
};
struct SrqDeleter {
  Rnic* rnic = nullptr;
  void operator()(SharedReceiveQueue* srq) const;
};
using QpHandle = std::unique_ptr<QueuePair, QpDeleter>;
using CqHandle = std::unique_ptr<CompletionQueue, CqDeleter>;
using SrqHandle = std::unique_ptr<SharedReceiveQueue, SrqDeleter>;

}  // namespace iwarp::net
