// SPDX-License-Identifier: Apache-2.0
// Rnic: the software RDMA device. Makes all objects and enforces their limits (it is the resource
// manager of RFC 5042 section 3), runs the worker threads that serve passive targets, and connects.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "iwarp/net/address.hpp"
#include "iwarp/net/channel.hpp"
#include "iwarp/net/completion_channel.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/net/handles.hpp"
#include "iwarp/verbs/counters.hpp"

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
  unsigned workers = 1;  ///< worker threads, at least 1; each connection belongs to one
  /// How long an idle worker busy-polls before it blocks; 0 means that it blocks at once.
  /// Busy-polling saves wake-up time if processors are idle, and costs throughput otherwise.
  std::chrono::microseconds busy_poll{0};
  std::size_t max_pds = 4096;       ///< protection domains
  std::size_t max_regions = 65536;  ///< regions and windows
  std::size_t max_qps = 16384;      ///< queue pairs
  std::size_t max_cqs = 16384;      ///< completion queues
  std::size_t max_srqs = 4096;      ///< shared receive queues
  std::size_t max_cqe = 1 << 20;    ///< entries of one completion queue
  std::size_t max_wr = 32768;       ///< entries of one send or receive queue
  /// Limits of half-open inbound connections, whose TCP is accepted and whose MPA startup is not
  /// finished. [SCTP-4] This one limits all of them; the next two limit those that wait for the
  /// Request or RTR of a peer on another host, per source address (IPv6: /64) and per port. To
  /// admit a new connection, the device resets the oldest one whose Request or RTR has not arrived;
  /// if there is none, it resets the new one.
  std::size_t max_pending_connects = 4096;
  std::size_t max_pending_per_source = 2048;    ///< see max_pending_connects
  std::size_t max_pending_per_listener = 3072;  ///< see max_pending_connects
  /// Number of descriptors that inbound set-ups must not use, so that the application can; at most
  /// a quarter of RLIMIT_NOFILE.
  std::size_t reserved_descriptors = 128;
  /// If true, an access to registered memory that has been unmapped, protected or truncated ends
  /// the connection and not the process. The first registration installs a handler for SIGSEGV and
  /// SIGBUS, which passes all other faults to the previous handler.
  bool catch_faults = true;
  /// Called, by any thread, with one line of text about each connection that ends because of such
  /// an access; must not call the Rnic. If null, the line goes to standard error.
  void (*warn)(const char* line) = nullptr;
};

/// A software RDMA device. Thread-safe. The objects that it makes must be destroyed before it.
/// Every function that returns a std::error_code or an Expected may also fail with
/// std::errc::not_enough_memory.
class Rnic {
 public:
  /// Opens a device and starts its workers. Fails with `Errc::kInvalidArgument` if there are no
  /// workers, or with the system's error if threads or descriptors are not available.
  static Expected<std::unique_ptr<Rnic>> open(const RnicOptions& options = {});
  /// Aborts the connections that exist and joins the workers.
  ~Rnic();

  /// Makes a protection domain. Fails with `Errc::kLimitReached`.
  Expected<std::unique_ptr<ProtectionDomain>> alloc_pd();
  /// Registers memory, which must stay mapped until it is deregistered. Fails with
  /// `Errc::kInvalidArgument` if it is empty, not mapped, not writable although `access` requires
  /// that, or does not fit MemoryOptions::iova; `Errc::kWrongPd` if `only_for` belongs to another
  /// domain; or `Errc::kLimitReached`. [RDMAP-123]
  Expected<Memory> register_memory(ProtectionDomain& pd, std::span<std::byte> octets, Access access,
                                   const MemoryOptions& options = {});
  /// Registers memory that is only read. Fails as above, and with `Errc::kInvalidArgument` if
  /// `access` has a right to write.
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
  /// that completed a request. `notify` must not wait. Fails as above.
  Expected<CqHandle> create_cq(std::size_t capacity, std::function<void(CompletionQueue&)> notify);
  /// Makes a shared receive queue. Fails with `Errc::kInvalidArgument` if max_wr is 0 or above the
  /// device's, or max_sge above 16; or `Errc::kLimitReached`.
  Expected<SrqHandle> create_srq(ProtectionDomain& pd, const SharedReceiveQueue::Limits& limits);
  /// Makes a queue pair in Idle; sets init.pd. Its SRQ may belong to another domain. Fails with
  /// `Errc::kInvalidArgument` if a limit is above the device's or that of QpLimits, a completion
  /// queue is null or of another device, or init.num is in use or has more than 24 bits; or with
  /// `Errc::kLimitReached`.
  Expected<QpHandle> create_qp(ProtectionDomain& pd, verbs::QpInit init);
  /// Makes the sending end of a connection of the queue pair `of` with itself. The new queue pair
  /// has the number, domain and queues of `of`. Requests posted to it complete as if posted to
  /// `of`; it has no receives and grants the peer no rights. Destroy it before `of`. Fails with
  /// `Errc::kLimitReached`.
  Expected<QpHandle> create_other_end(const QueuePair& of);
  /// Makes a datagram queue pair. Fails with `Errc::kInvalidArgument` if a limit is above the
  /// device's, or a completion queue is null or of another device; `Errc::kLimitReached`; or the
  /// system's error if no UDP port can be bound.
  Expected<std::unique_ptr<DatagramQp>> create_datagram_qp(ProtectionDomain& pd,
                                                           const DatagramQpOptions& options);

  // Connections ---------------------------------------------------------------------------------
  /// Starts to connect; the outcome is an event on `channel`: kEstablished, kRejected or
  /// kConnectFailed. Fails with `Errc::kWrongState` unless `qp` is Idle and not being connected;
  /// `Errc::kPrivateDataTooLong`; `Errc::kOrdTooLarge` if IRD or ORD is above mpa::kMaxReads;
  /// `Errc::kAddressInvalid` if the port is 0; or `Errc::kInvalidArgument` if `qp` is of another
  /// device.
  std::error_code connect(QueuePair& qp, const Address& to, const ConnectOptions& options,
                          CmChannel& channel);
  /// Does the same as connect(), but blocks until the outcome is known and returns its event. Later
  /// events go to `channel`. Fails as connect() does; if connecting fails or the peer rejects, that
  /// is an event.
  Expected<CmEvent> connect_wait(QueuePair& qp, const Address& to, const ConnectOptions& options,
                                 CmChannel& channel);
  /// Listens; requests are kConnectRequest events on `channel`. Fails as bind_tcp() does, with
  /// `Errc::kOrdTooLarge` as connect() does, or with `Errc::kInvalidArgument` for an unknown
  /// congestion control.
  Expected<std::unique_ptr<Listener>> listen(const Address& at, const ListenOptions& options,
                                             CmChannel& channel);
  /// Listens on a port that is already bound. Fails as above; `socket` then keeps the port.
  Expected<std::unique_ptr<Listener>> listen(BoundSocket&& socket, const ListenOptions& options,
                                             CmChannel& channel);
  /// Starts MPA, as initiator, on a TCP socket that the application has used before. No octets of
  /// the peer may be in flight. Takes ownership of the descriptor on success, and also if it fails
  /// with std::errc::not_enough_memory. Fails as connect() does, with `Errc::kInvalidArgument` also
  /// if `socket` is not a connected TCP socket, or with `Errc::kSystem`. [MPA-62] [MPA-63]
  /// [MPA-104]
  std::error_code adopt_initiator(QueuePair& qp, int socket, const ConnectOptions& options,
                                  CmChannel& channel);
  /// Starts MPA as responder; the request is an event on `channel`. Fails with
  /// `Errc::kInvalidArgument`, `Errc::kOrdTooLarge` or `Errc::kSystem` as above, or with
  /// `Errc::kLimitReached` if there is no room for a set-up; then the connection has been reset.
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
  /// Returns the event kDisconnected, which says why the stream of `qp` ended, before a channel
  /// reports it. Returns nullopt if the stream has not ended, or if the event has already been
  /// queued. Waits for the lock of the connection.
  std::optional<CmEvent> stream_ended(const QueuePair& qp) const;
  /// Returns all statistics, and lists at most `max_connections` connections one by one. Waits for
  /// the lock of each connection.
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
