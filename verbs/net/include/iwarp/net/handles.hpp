// SPDX-License-Identifier: Apache-2.0
// Handles: the objects of an Rnic that an application owns. Each is destroyed with its handle, and
// before the Rnic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {
struct Region;
}  // namespace iwarp::verbs

namespace iwarp::net {

using verbs::Access;
using verbs::CompletionQueue;
using verbs::QueuePair;
using verbs::SharedReceiveQueue;

class Rnic;

/// Protection domain: queue pairs, regions, windows and SRQs of one cannot access those of another.
/// Must outlive them. [VRB-1]
class ProtectionDomain {
 public:
  ProtectionDomain(Rnic& rnic, verbs::PdId id) : rnic_(rnic), id_(id) {}
  ~ProtectionDomain();
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;
  /// Returns its number, as in QueuePair::pd().
  verbs::PdId id() const { return id_; }

 private:
  Rnic& rnic_;
  verbs::PdId id_;
};

/// Options of Rnic::register_memory().
struct MemoryOptions {
  /// Ties the memory to one queue pair: other peers cannot use it. Null: not tied. [DDP-87]
  const QueuePair* only_for = nullptr;
  /// Replaces the virtual address as TO of the first byte and as its address in an Sge. The region
  /// must end below 2^64. Not together with Access::kZeroBased.
  std::optional<std::uint64_t> iova;
};

/// A region, fast-register region or window. Movable; empty when default-constructed, moved from or
/// deregistered. Not thread-safe.
class Memory {
 public:
  Memory() = default;
  Memory(Rnic* rnic, verbs::Region* region) : rnic_(rnic), region_(region) {}
  Memory(Memory&& o) noexcept;
  Memory& operator=(Memory&& o) noexcept;
  /// As deregister(); a region with bound windows stays registered until the Rnic is destroyed.
  ~Memory();

  /// Returns the STag, which is both lkey and rkey.
  verbs::Stag stag() const;
  /// Return where the memory is, and how many bytes it has.
  std::byte* address() const;
  std::uint64_t length() const;
  /// Returns the TO of `at`, an address inside the region: what to advertise to a peer.
  std::uint64_t to(const std::byte* at) const;
  /// Returns whether it is registered and its STag can be used.
  bool valid() const;
  /// Changes the rights and the domain of a region, under its present STag. Returns when the memory
  /// cannot be accessed any more by rights or from a domain that it has lost: a peer that is just
  /// doing so loses its connection, and so does a request of the former domain.
  /// Fails with `Errc::kInvalidArgument` if the memory is not mapped, or not writable although
  /// `access` needs it, and with `Errc::kBusy` while windows are bound to it.
  std::error_code change(const ProtectionDomain& pd, Access access);
  /// Deregisters the memory. Returns when it cannot be accessed any more: a connection that is just
  /// using it ends. Does nothing if empty. Fails with `Errc::kBusy` while windows are bound to it.
  std::error_code deregister();

 private:
  Rnic* rnic_ = nullptr;
  verbs::Region* region_ = nullptr;
};

/// Destroys queue pairs.
struct QpDeleter {
  Rnic* rnic = nullptr;
  /// Closes the connection, flushes, and waits for the thread that drives it. Messages sent
  /// completely still arrive: the connection is reset only if a message is partly sent.
  void operator()(QueuePair* qp) const;
};
/// Destroys completion queues.
struct CqDeleter {
  Rnic* rnic = nullptr;
  /// The queue's queue pairs must have been destroyed. Removes its events from its channel.
  void operator()(CompletionQueue* cq) const;
};
/// Destroys shared receive queues.
struct SrqDeleter {
  Rnic* rnic = nullptr;
  /// The queue's queue pairs must have been destroyed.
  void operator()(SharedReceiveQueue* srq) const;
};
/// Owns a queue pair.
using QpHandle = std::unique_ptr<QueuePair, QpDeleter>;
/// Owns a completion queue.
using CqHandle = std::unique_ptr<CompletionQueue, CqDeleter>;
/// Owns a shared receive queue.
using SrqHandle = std::unique_ptr<SharedReceiveQueue, SrqDeleter>;

}  // namespace iwarp::net
