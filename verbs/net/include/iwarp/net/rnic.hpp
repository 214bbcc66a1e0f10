// SPDX-License-Identifier: Apache-2.0
// Rnic: the software RDMA device. It makes all objects and enforces their limits (as the resource
// manager of RFC 5042 section 3). It runs the worker threads, which drive connections while the
// application does not. It connects and listens. It does not interpret messages or private data,
// and it does not authenticate peers; a carrier may do so.
//
// <!-- figure: source test/net/examples.cpp | block struct Program -->
// ```cpp
// struct Program {
//   std::unique_ptr<Rnic> rnic = must(Rnic::open());
//   CmChannelHandle events = must(rnic->create_cm_channel());
//   std::unique_ptr<ProtectionDomain> pd = must(rnic->alloc_pd());
//   std::unique_ptr<CompletionChannel> channel = must(rnic->create_channel());
//   CqHandle cq = must(rnic->create_cq(16, channel.get()));
//   QpHandle qp = must(rnic->create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get()}));
// };
// ```
// <!-- end -->
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "iwarp/net/address.hpp"
#include "iwarp/net/channel.hpp"
#include "iwarp/net/completion_channel.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/net/handles.hpp"
#include "iwarp/verbs/counters.hpp"

namespace iwarp::verbs {
struct DatagramCounters;
}

namespace iwarp::net {

class BoundSocket;
class DatagramQp;
struct DatagramQpOptions;
struct Statistics;

/// A value or an error.
template <typename T>
using Expected = std::expected<T, std::error_code>;

/// Options of a device. The limits bound what applications and peers can make the device allocate.
struct RnicOptions {
  /// number of worker threads, at least 1; each connection belongs to one worker thread
  unsigned workers = 1;
  /// How long an idle worker busy-polls before it blocks; 0 means that it blocks at once. If
  /// processors are idle, busy-polling saves the time that a wake-up takes; otherwise it costs
  /// throughput.
  std::chrono::microseconds busy_poll{0};
  std::size_t max_pds = 4096;       ///< maximum number of protection domains
  std::size_t max_regions = 65536;  ///< maximum number of regions and windows
  std::size_t max_qps = 16384;      ///< maximum number of queue pairs
  std::size_t max_cqs = 16384;      ///< maximum number of completion queues
  std::size_t max_srqs = 4096;      ///< maximum number of shared receive queues
  std::size_t max_cqe = 1 << 20;    ///< maximum number of entries of one completion queue
  std::size_t max_wr = 32768;       ///< maximum number of entries of one send or receive queue
  /// Maximum number of half-open inbound connections, whose TCP is accepted and whose MPA startup
  /// is not finished. [SCTP-4] The next two fields limit the number of half-open connections that
  /// wait for the Request or RTR of a peer on another host. At each limit the device resets the
  /// oldest half-open connection whose Request or RTR has not arrived; if there is none, it resets
  /// the new connection.
  std::size_t max_pending_connects = 4096;
  /// maximum number of half-open connections per source address (IPv6: per /64)
  std::size_t max_pending_per_source = 2048;
  /// maximum number of half-open connections per listening port
  std::size_t max_pending_per_listener = 3072;
  /// Number of descriptors that are reserved for the application, at most a quarter of
  /// RLIMIT_NOFILE. If fewer are free, an inbound set-up evicts others, or is itself refused.
  std::size_t reserved_descriptors = 128;
  /// If true, an access to registered memory that has been unmapped, protected or truncated ends
  /// the connection instead of the process. The first registration installs a handler for SIGSEGV
  /// and SIGBUS, which passes all other faults to the previous handler.
  bool catch_faults = true;
  /// Called, by any thread, with one line of text about each connection that ends because its
  /// registered memory cannot be accessed. The function must not call the Rnic. If null, the line
  /// goes to standard error.
  void (*warn)(const char* line) = nullptr;
};

/// A software RDMA device. Thread-safe. All objects that an Rnic has made must be destroyed before
/// it. Every function that returns a std::error_code or an Expected may also fail with
/// std::errc::not_enough_memory.
class Rnic {
 public:
  /// Opens a device and starts its workers. Fails with `Errc::kInvalidArgument` if there are no
  /// workers, or with the system's error if threads or descriptors are not available.
  static Expected<std::unique_ptr<Rnic>> open(const RnicOptions& options = {});
  /// Aborts all connections and joins the workers.
  ~Rnic();

  /// Makes a protection domain. Fails with `Errc::kLimitReached`.
  Expected<std::unique_ptr<ProtectionDomain>> alloc_pd();
  /// Registers memory, which must stay mapped until it is deregistered. Fails with
  /// `Errc::kInvalidArgument` if the memory is empty, not mapped, not writable although `access`
  /// requires it, or does not fit MemoryOptions::iova; `Errc::kWrongPd` if `only_for` belongs to
  /// another domain; or `Errc::kLimitReached`. [RDMAP-123]
  Expected<Memory> register_memory(ProtectionDomain& pd, std::span<std::byte> octets, Access access,
                                   const MemoryOptions& options = {});
  /// Registers memory that is only read. Fails with the errors of the other overload, and with
  /// `Errc::kInvalidArgument` if `access` includes a right to write.
  Expected<Memory> register_memory(ProtectionDomain& pd, std::span<const std::byte> octets,
                                   Access access, const MemoryOptions& options = {});
  /// Makes a region that is invalid until a kFastRegister request. Fails with
  /// `Errc::kLimitReached`.
  Expected<Memory> allocate_fast_region(ProtectionDomain& pd);
  /// Makes a window that is invalid until a kBindWindow request. Fails with `Errc::kLimitReached`.
  Expected<Memory> allocate_window(ProtectionDomain& pd);

  /// Makes a channel for any number of completion queues. Fails with the system's error if no
  /// descriptor is available.
  Expected<std::unique_ptr<CompletionChannel>> create_channel();
  /// Makes a completion queue whose events go to `channel`, which may be null. Fails with
  /// `Errc::kInvalidArgument` if `capacity` is 0 or above max_cqe, or `Errc::kLimitReached`.
  Expected<CqHandle> create_cq(std::size_t capacity, CompletionChannel* channel = nullptr);
  /// Makes a completion queue that calls `notify` once per arm(), without locks held, in the thread
  /// that completed a request. `notify` must not wait. Fails as the other create_cq() does.
  Expected<CqHandle> create_cq(std::size_t capacity, std::function<void(CompletionQueue&)> notify);
  /// Makes a shared receive queue. Fails with `Errc::kInvalidArgument` if limits.max_wr is 0 or
  /// above RnicOptions::max_wr, or if limits.max_sge is above 16; or with `Errc::kLimitReached`.
  Expected<SrqHandle> create_srq(ProtectionDomain& pd, const SharedReceiveQueue::Limits& limits);
  /// Makes a queue pair in Idle, and sets init.pd. The SRQ may belong to another domain. Fails with
  /// `Errc::kInvalidArgument` if a limit is above the maximum of the device or of QpLimits, if a
  /// completion queue is null or belongs to another device, or if init.num is in use or has more
  /// than 24 bits. Fails with `Errc::kLimitReached` if there are max_qps queue pairs.
  Expected<QpHandle> create_qp(ProtectionDomain& pd, verbs::QpInit init);
  /// Makes a datagram queue pair. Fails with `Errc::kInvalidArgument` if a limit is above the
  /// maximum of the device, or if a completion queue is null or belongs to another device; with
  /// `Errc::kLimitReached`; or with the system's error if no UDP port can be bound.
  Expected<std::unique_ptr<DatagramQp>> create_datagram_qp(ProtectionDomain& pd,
                                                           const DatagramQpOptions& options);

  // Connections ---------------------------------------------------------------------------------
  /// Starts to connect; the outcome is an event on `channel`: kEstablished, kRejected or
  /// kConnectFailed. Fails with `Errc::kWrongState` unless `qp` is Idle and no attempt to connect
  /// it is in progress; `Errc::kPrivateDataTooLong`; `Errc::kOrdTooLarge` if IRD or ORD is above
  /// mpa::kMaxReads; `Errc::kAddressInvalid` if the port is 0; or `Errc::kInvalidArgument` if `qp`
  /// belongs to another device.
  std::error_code connect(QueuePair& qp, const Address& to, const ConnectOptions& options,
                          CmChannel& channel);
  /// Listens; the requests of peers are kConnectRequest events on `channel`. Fails with the errors
  /// of bind_tcp(), with `Errc::kOrdTooLarge` as connect() does, or with `Errc::kInvalidArgument`
  /// if the congestion control is unknown.
  Expected<std::unique_ptr<Listener>> listen(const Address& at, const ListenOptions& options,
                                             CmChannel& channel);
  /// Listens on a port that is already bound. Fails as the other listen() does; `socket` then keeps
  /// the port.
  Expected<std::unique_ptr<Listener>> listen(BoundSocket&& socket, const ListenOptions& options,
                                             CmChannel& channel);
  /// Starts MPA, as initiator, on a connected TCP socket that the application has used before. No
  /// octets of the peer may be in flight. Takes ownership of the descriptor on success, and also on
  /// a failure with std::errc::not_enough_memory. Fails as connect() does. Also fails with
  /// `Errc::kInvalidArgument` if `socket` is not a connected TCP socket, or with `Errc::kSystem`.
  /// [MPA-62] [MPA-63] [MPA-104]
  std::error_code adopt_initiator(QueuePair& qp, int socket, const ConnectOptions& options,
                                  CmChannel& channel);
  /// Starts MPA as responder on a connected TCP socket. The peer's request is an event on
  /// `channel`. Fails with `Errc::kInvalidArgument`, `Errc::kOrdTooLarge` or `Errc::kSystem` as
  /// adopt_initiator() does, or with `Errc::kLimitReached` if there is no room for a set-up; the
  /// connection is then reset.
  std::error_code adopt_responder(int socket, const ListenOptions& options, CmChannel& channel);
  /// Stops connecting `qp`, or ends its connection, and removes the events about `qp` from the
  /// channels. `qp` can be connected again after QueuePair::reset().
  void cancel(QueuePair& qp);
  /// Makes a channel for connection events, which must outlive the listeners and queue pairs that
  /// use it. Fails with the system's error if no descriptor is available.
  Expected<CmChannelHandle> create_cm_channel();

  /// Returns the channel of asynchronous events of queue pairs, completion queues and SRQs.
  AsyncChannel& async_events();

  /// Return the counters of all connections so far, or of the connections of one queue pair.
  verbs::Counters counters() const;
  verbs::Counters counters(const QueuePair& qp) const;
  /// Returns the counters of all datagram queue pairs so far. Waits for the lock of each of them.
  verbs::DatagramCounters datagram_counters() const;
  /// Returns the event kDisconnected of `qp`, which says why the stream ended, if the event has not
  /// been queued on a channel yet. Returns nullopt if the stream has not ended, or if the event has
  /// been queued. Waits for the lock of the connection.
  std::optional<CmEvent> stream_ended(const QueuePair& qp) const;
  /// Returns all statistics, with entries for at most `max_connections` connections. Waits for the
  /// lock of each connection.
  Statistics statistics(std::size_t max_connections = 256) const;
  /// Returns the options with which the device was opened.
  const RnicOptions& options() const;

  /// The implementation, which only classes of this layer use.
  struct Impl;
  /// Returns the implementation. For classes of this layer.
  Impl& impl() { return *impl_; }

 private:
  explicit Rnic(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::net
