// SPDX-License-Identifier: Apache-2.0
// Rnic: the software RDMA device. Makes and owns everything scarce (it is the resource manager of
// RFC 5042 section 3), runs the worker threads that serve passive targets, and connects.
// All objects made by an Rnic must be gone before it. Every function is thread safe unless said.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "iwarp/net/address.hpp"
#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/channel.hpp"
#include "iwarp/net/completion_channel.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "iwarp/net/datagram_qp.hpp"
#include "iwarp/net/handles.hpp"
#include "iwarp/net/statistics.hpp"
#include "iwarp/verbs/counters.hpp"

namespace iwarp::net {

template <typename T>
using Expected = std::expected<T, std::error_code>;

struct RnicOptions {
  unsigned workers = 1;  ///< threads; each connection belongs to one
  /// For so long a worker polls after its last work before it sleeps. 0: it sleeps at once. Saves
  /// the time of being woken where processors are to spare; where they are not, it costs.
  std::chrono::microseconds busy_poll{0};
  std::size_t max_pds = 4096;
  std::size_t max_regions = 65536;  ///< regions and windows
  std::size_t max_qps = 16384;
  std::size_t max_cqs = 16384;
  std::size_t max_srqs = 4096;
  std::size_t max_cqe = 1 << 20;  ///< entries of one completion queue
  std::size_t max_wr = 32768;     ///< entries of one send or receive queue
  /// Inbound set-ups, from TCP's to the established connection. [SCTP-4] Of those whose peer, on
  /// another host, has to say something, its Request or its RTR, one address (IPv6: one /64) and
  /// one port of ours may have so many. Where a newcomer has no room, the oldest that owes
  /// something is reset, if it has not arrived; where there is none, the newcomer.
  std::size_t max_pending_connects = 4096;
  std::size_t max_pending_per_source = 2048;
  std::size_t max_pending_per_listener = 3072;
  /// Descriptors that set-ups leave to the program; at most a quarter of RLIMIT_NOFILE.
  std::size_t reserved_descriptors = 128;
  /// Registered memory that is unmapped, protected or cut short ends the connection that touches
  /// it, not the process. From the first registration on this process then has a handler for
  /// SIGSEGV and SIGBUS, which hands on all faults that are not ours.
  bool catch_faults = true;
  /// Told one line about each such end, by any thread; must not call the Rnic. Null: standard
  /// error.
  void (*warn)(const char* line) = nullptr;
};

class Rnic {
 public:
  static Expected<std::unique_ptr<Rnic>> open(const RnicOptions& options = {});
  /// Aborts what is still connected and joins the workers.
  ~Rnic();

  Expected<std::unique_ptr<ProtectionDomain>> alloc_pd();
  /// `octets` stay where they are until deregistered. Errc::kInvalidArgument: empty, or not
  /// writable memory for a right that needs it, or an `iova` that does not fit. [RDMAP-123]
  Expected<Memory> register_memory(ProtectionDomain& pd, std::span<std::byte> octets, Access access,
                                   const MemoryOptions& options = {});
  /// Read-only memory: local and remote read only.
  Expected<Memory> register_memory(ProtectionDomain& pd, std::span<const std::byte> octets,
                                   Access access, const MemoryOptions& options = {});
  /// Invalid until a kFastRegister request gives it meaning.
  Expected<Memory> allocate_fast_region(ProtectionDomain& pd);
  /// Type 2 window: invalid until a kBindWindow request.
  Expected<Memory> allocate_window(ProtectionDomain& pd);

  /// A descriptor to sleep on, shared by any number of completion queues.
  Expected<std::unique_ptr<CompletionChannel>> create_channel();
  Expected<CqHandle> create_cq(std::size_t capacity, CompletionChannel* channel = nullptr);
  /// `notify` is called once per arm(), by whoever completed something, without locks held. It must
  /// not wait.
  Expected<CqHandle> create_cq(std::size_t capacity, std::function<void(CompletionQueue&)> notify);
  Expected<SrqHandle> create_srq(ProtectionDomain& pd, const SharedReceiveQueue::Limits& limits);
  /// init.pd is filled in from `pd`. Errc::kWrongPd: `srq` of another PD is fine, of none is not.
  /// Errc::kInvalidArgument: above a limit, or init.num is in use or has more than 24 bits.
  Expected<QpHandle> create_qp(ProtectionDomain& pd, verbs::QpInit init);
  /// The sending end for a connection of `of` with itself: of the same number, domain and queues.
  /// What is posted to it completes as if it had been posted to `of`; it takes no receives and
  /// gives the peer no rights. Ends before `of`.
  Expected<QpHandle> create_other_end(const QueuePair& of);

  /// A queue pair of datagrams; its number names its UDP port. Errc::kInvalidArgument: above a
  /// limit, or without completion queues of this device; otherwise what binding a port says.
  Expected<std::unique_ptr<DatagramQp>> create_datagram_qp(ProtectionDomain& pd,
                                                           const DatagramQpOptions& options);

  // Connections ---------------------------------------------------------------------------------
  /// Starts connecting; the outcome comes as an event on `channel`: kEstablished, kRejected or
  /// kConnectFailed. Errc::kWrongState unless the QP is Idle and unconnected.
  std::error_code connect(QueuePair& qp, const Address& to, const ConnectOptions& options,
                          CmChannel& channel);
  /// The same, waiting for the outcome. The reply's private data is in the event.
  Expected<CmEvent> connect_wait(QueuePair& qp, const Address& to, const ConnectOptions& options,
                                 CmChannel& channel);
  /// Requests come as kConnectRequest events on `channel`.
  Expected<std::unique_ptr<Listener>> listen(const Address& at, const ListenOptions& options,
                                             CmChannel& channel);
  /// The same on a port that is bound already. `socket` stays as it was unless this succeeds.
  Expected<std::unique_ptr<Listener>> listen(BoundSocket&& socket, const ListenOptions& options,
                                             CmChannel& channel);
  /// Starts MPA on a connected TCP socket after ordinary streaming; takes the descriptor over,
  /// unless the answer is Errc::kInvalidArgument, kPrivateDataTooLong or kWrongState. Its inbound
  /// direction must be quiet. [MPA-62] [MPA-63] [MPA-104] As responder the request comes as
  /// kConnectRequest.
  std::error_code adopt_initiator(QueuePair& qp, int socket, const ConnectOptions& options,
                                  CmChannel& channel);
  std::error_code adopt_responder(int socket, const ListenOptions& options, CmChannel& channel);
  /// Gives up connecting the queue pair, or what is left of its connection: it can be connected
  /// again once it is reset(), and nothing more is told, but what somebody holds already.
  void cancel(QueuePair& qp);
  /// Has to outlive the listeners and the queue pairs that use it.
  Expected<CmChannelHandle> create_cm_channel();

  /// QP, CQ and SRQ events, with a descriptor to wait on.
  AsyncChannel& async_events();

  /// All connections so far, ended ones included.
  verbs::Counters counters() const;
  verbs::Counters counters(const QueuePair& qp) const;
  /// Why the stream of its connection ended, as the event kDisconnected will say it; nullopt: it
  /// has not ended, or that event is on its way already.
  std::optional<CmEvent> stream_ended(const QueuePair& qp) const;
  /// The same and more, with at most so many connections one by one. Waits for whoever drives each.
  Statistics statistics(std::size_t max_connections = 256) const;
  const RnicOptions& options() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Rnic(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::net
