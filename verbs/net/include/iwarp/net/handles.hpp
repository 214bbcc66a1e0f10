// SPDX-License-Identifier: Apache-2.0
// Handles: each handle owns one object of an Rnic. Destroying the handle destroys the object. The
// application must destroy all handles before the Rnic. The device does not check how the
// application uses registered memory, for example that it does not change a buffer being sent.
//
// <!-- figure: source test/net/examples.cpp | block Memory open_to_peer -->
// ```cpp
// Memory open_to_peer(const Program& program, std::span<std::byte> buffer) {
//   // The peer needs the region's STag and TO, which iwarp::advert_of() encodes.
//   return must(program.rnic->register_memory(*program.pd, buffer,
//                                             Access::kLocalWrite | Access::kRemoteWrite));
// }
// ```
// <!-- end -->
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>

#include "iwarp/verbs/completion_queue.hpp"
#include "iwarp/verbs/queue_pair.hpp"
#include "iwarp/verbs/shared_receive_queue.hpp"

namespace iwarp::verbs {
struct Region;
}  // namespace iwarp::verbs

namespace iwarp::net {

using verbs::Access;
using verbs::CompletionQueue;
using verbs::QueuePair;
using verbs::SharedReceiveQueue;

class Rnic;

/// Protection domain: the queue pairs, regions, windows and SRQs of one domain cannot access those
/// of another domain. A domain must outlive its objects. [VRB-1]
class ProtectionDomain {
 public:
  ProtectionDomain(Rnic& rnic, verbs::PdId id) : rnic_(rnic), id_(id) {}
  ~ProtectionDomain();
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;
  /// Returns the number of the domain. QueuePair::pd() returns the same number.
  verbs::PdId id() const { return id_; }

 private:
  Rnic& rnic_;
  verbs::PdId id_;
};

/// Options of Rnic::register_memory().
struct MemoryOptions {
  /// The only queue pair whose peer may access the memory. If null, the peers of all queue pairs of
  /// the domain may access it. [DDP-87]
  const QueuePair* only_for = nullptr;
  /// The number that the first byte of the region has as its TO and as its address in an Sge. If
  /// unset, that number is the virtual address of the byte. The region must end below 2^64. Not
  /// allowed together with Access::kZeroBased.
  std::optional<std::uint64_t> iova{};
};

/// A region, fast-register region or window. Movable. Empty after default construction, after a
/// move from it, or after deregister(). Not thread-safe.
class Memory {
 public:
  Memory() = default;
  Memory(Rnic* rnic, verbs::Region* region) : rnic_(rnic), region_(region) {}
  Memory(Memory&& o) noexcept;
  Memory& operator=(Memory&& o) noexcept;
  /// Deregisters the memory, except that a region with bound windows stays registered until the
  /// Rnic is destroyed.
  ~Memory();

  /// Returns the STag, which is both lkey and rkey.
  verbs::Stag stag() const;
  /// Return the address of the first byte, and the length in bytes.
  std::byte* address() const;
  std::uint64_t length() const;
  /// Returns the TO of the byte at `at`, which must be inside the region. A peer needs the TO to
  /// access that byte.
  std::uint64_t to(const std::byte* at) const;
  /// Returns whether the memory is registered and its STag can be used.
  bool valid() const;
  /// Changes the rights and the domain of a region, which keeps its STag. Returns when the new
  /// rights and domain permit every access that is still in progress. To achieve this, ends each
  /// connection whose peer is making a forbidden access and, if the domain changes, each connection
  /// with an unfinished request that uses the memory. Fails with `Errc::kInvalidArgument` if the
  /// memory is not mapped, or not writable although `access` requires that, and with `Errc::kBusy`
  /// while windows are bound to the region.
  std::error_code change(const ProtectionDomain& pd, Access access);
  /// Deregisters the memory. Ends each connection that is using the memory at that moment, and
  /// returns when no connection can access the memory any more. Does nothing if this object is
  /// empty. Fails with `Errc::kBusy` while windows are bound to the memory.
  std::error_code deregister();

 private:
  Rnic* rnic_ = nullptr;
  verbs::Region* region_ = nullptr;
};

/// Destroys objects of an Rnic. The queue pairs that use a completion queue or a shared receive
/// queue must have been destroyed before that queue.
struct RnicDeleter {
  Rnic* rnic = nullptr;
  /// Closes the connection, flushes all requests, and waits for the thread that drives the
  /// connection. Messages that were sent completely still arrive. Resets the connection only if
  /// some octets of a message have been sent and others have not.
  void operator()(QueuePair* qp) const;
  /// Destroys `cq` and removes its events from its channel.
  void operator()(CompletionQueue* cq) const;
  void operator()(SharedReceiveQueue* srq) const;
};
/// Owns a queue pair.
using QpHandle = std::unique_ptr<QueuePair, RnicDeleter>;
/// Owns a completion queue.
using CqHandle = std::unique_ptr<CompletionQueue, RnicDeleter>;
/// Owns a shared receive queue.
using SrqHandle = std::unique_ptr<SharedReceiveQueue, RnicDeleter>;

}  // namespace iwarp::net
