// SPDX-License-Identifier: Apache-2.0
// CmId, the object behind an rdma_cm_id; its events and channels; and Cm, the state that all ids
// share. Cm::mutex guards the state of each id, the owner of each event, and the table that says
// which id gets the events of a queue pair.
//
// Lock order: Core's lock of queue pairs, then Cm::mutex, then the lock of a channel's queue. A
// thread of the program that holds Cm::mutex waits only for an acknowledgement, and releases the
// mutex during that wait.
#pragma once

#include <rdma/rdma_cma.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cm/id_fsm.hpp"
#include "cm/ports.hpp"
#include "cm/sidr/sidr.hpp"
#include "process/core.hpp"
#include "process/errno_table.hpp"
#include "process/event_queue.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct CmId;

/// An event that was made for the program and that the program has not acknowledged yet.
struct CmEventRecord {
  rdma_cm_event abi{};  ///< must be the first member, as the cast in of() requires
  /// The id that cannot be destroyed before the event is acknowledged. For a request it is the
  /// listening id.
  CmId* owner;
  std::vector<std::byte> private_data;
  std::optional<sockaddr_storage> source;  ///< local address of the id's connection
  verbs::QpNum connected = 0;              ///< number of that connection's queue pair
  /// The new id that was made for a request. rdma_get_cm_event() passes it to the program.
  std::unique_ptr<CmId> child;

  /// The event's node for the queue, so that queueing it does not allocate.
  EventQueue<CmEventRecord*>::Made place{this};

  explicit CmEventRecord(CmId& its_owner);
  ~CmEventRecord();
  static CmEventRecord& of(rdma_cm_event* event) {
    return *reinterpret_cast<CmEventRecord*>(event);
  }
};

struct EventChannel {
  rdma_event_channel abi{};  ///< must be the first member, as the cast in of() requires
  EventQueue<CmEventRecord*> events;

  EventChannel() { abi.fd = events.fd(); }
  static EventChannel& of(rdma_event_channel* channel) {
    return *reinterpret_cast<EventChannel*>(channel);
  }
};

struct CmId {
  CmId();
  ~CmId();
  CmId(const CmId&) = delete;
  CmId& operator=(const CmId&) = delete;
  static CmId& of(rdma_cm_id* id) { return *reinterpret_cast<CmId*>(id); }
  sockaddr& source() { return abi.route.addr.src_addr; }
  sockaddr& destination() { return abi.route.addr.dst_addr; }
  EventChannel& channel() { return EventChannel::of(abi.channel); }
  /// Returns whether the id may be used. Returns false in the child of a fork if the id uses the
  /// parent's Core.
  bool alive() const { return core == nullptr || core->alive(); }
  /// Returns whether the id has a channel of its own, so that its calls wait for their events.
  bool synchronous() const { return own_channel != nullptr; }

  rdma_cm_id abi{};        ///< must be the first member, as the cast in of() requires
  ibv_sa_path_rec path{};  ///< set only as RoCE
  Core* core = nullptr;    ///< null while the id uses no device
  std::unique_ptr<EventChannel> own_channel;
  // Only the program's calls use the members below.
  std::optional<net::BoundSocket> bound;
  bool v6_only = false;
  /// Value of RDMA_OPTION_ID_ACK_TIMEOUT, encoded as ibv_qp_attr::timeout.
  std::optional<std::uint8_t> ack_timeout;
  /// Attributes that rdma_create_ep() got, for the queue pairs of accepted ids.
  std::optional<ibv_qp_init_attr> child_qp;
  // Cm::mutex guards the members below.
  IdLife life;
  verbs::QpNum qp_num = 0;  ///< number of its queue pair, set from kConnecting on
  bool passive = false;     ///< the id was made for a connection request
  bool has_qp = false;      ///< rdma_create_qp() made its queue pair before it began to connect
  bool is_rsocket = false;  ///< the connection belongs to an rsocket
  bool disconnect_wanted = false;  ///< rdma_disconnect() was called in state kConnecting
  std::uint16_t own_port = 0;      ///< local port of the connection, set from kConnected on
  std::unique_ptr<net::Listener> listener;
  std::unique_ptr<net::ConnectRequest> request;
  /// datagrams: the UDP port; of an id made for a request, the listener's port
  std::shared_ptr<SidrEnd> sidr;
  std::optional<SidrEnd::Peer> asked_by;  ///< datagrams: the peer for whose request the id was made
  int backlog = 0;                        ///< of a listening id: the maximum of `waiting_requests`
  /// Of a listening id: number of requests that the program has not read yet.
  std::atomic<int> waiting_requests{0};
  /// Events that are queued, or that the program has read and not acknowledged.
  unsigned outstanding = 0;
  unsigned acknowledged = 0;  ///< number of events acknowledged so far
};

/// An event that is held back: the end of a connection that must not be reported to the program yet
/// (see tell_end() in cm/events.cpp), or a connection request that arrived at the same port after
/// that end.
struct CmEnding {
  std::unique_ptr<CmEventRecord> event;
  std::uint16_t own_port = 0;  ///< local port of the connection, as the program numbers it
  bool is_request() const { return event->child != nullptr; }
  /// The queue pair whose completions must be polled first. 0 if this is a request, or if the end
  /// no longer waits for completions.
  verbs::QpNum qp_num = 0;
  std::chrono::steady_clock::time_point at_latest;
};

/// The state that all ids share.
struct Cm {
  explicit Cm(const Settings& settings) : persona(settings.persona), ports(settings.port_offset) {}

  const Persona persona;  ///< whether the program sees an RNIC or a RoCE adapter
  const PortMap ports;
  std::mutex mutex;
  std::condition_variable acknowledged;
  std::vector<CmId*> listening;
  /// The id that gets the events of a queue pair, from rdma_connect() or rdma_accept() until its
  /// connection ends. The pointer is null if the id was destroyed while it connected.
  std::unordered_map<verbs::QpNum, CmId*> by_qp;
  std::list<CmEnding> endings;
  /// Channels that the program has destroyed and that are not freed yet, see retire().
  std::deque<EventChannel*> retired;
};
Cm& cm();

/// Sets the Core of the id, and makes the Core if the process has none. Throws std::system_error if
/// it cannot be made.
void use_core(CmId& id);
/// Binds the id to the process's device: sets verbs, pd and port_num.
void use_device(CmId& id);
/// Returns the protection domain for ids to which the program passes no other one.
ibv_pd* default_pd(ibv_context* verbs);
/// Makes a channel that only this id uses, so that later calls for the id wait for their events.
void make_synchronous(CmId& id);
/// Binds the id to a TCP port, for rdma_bind_addr() and for the functions that bind an unbound id.
/// `address` must fulfil is_ip(). Returns 0 or an errno.
int bind_to(CmId& id, const sockaddr& address);

/// make_event() makes an event of the id, and queue_event() puts it into the queue of the id's
/// channel. Call both with Cm::mutex held.
std::unique_ptr<CmEventRecord> make_event(CmId& id, rdma_cm_event_type type, int status = 0);
void queue_event(std::unique_ptr<CmEventRecord> event) noexcept;
/// If the id is synchronous, waits for the next event and stores it in id->event. Returns 0 or an
/// errno, which may be the status of the event. If the id is not synchronous, returns 0 at once.
int wait_for_event(CmId& id);
/// Acknowledges the last event of a synchronous id, if it has one.
void acknowledge_last(CmId& id);

/// Closes the connection of the queue pair, if it still has one. First waits up to kGrace (200 ms)
/// until outstanding requests are finished.
void end_connection(Core& core, verbs::QpNum num);
/// Announces all completions of the queue pair. Call when the CM will report no more events of the
/// queue pair, because no completion may wait for an event then.
void announce_all(Core& core, verbs::QpNum num);
/// Call when the queue pair is destroyed or reset: the end of its last connection no longer waits
/// for completions. Returns whether it was waiting.
bool settle_ending(verbs::QpNum num);
/// Reports DEVICE_REMOVAL to each id that listens at an address of the device or has a queue pair.
void tell_device_removed();
/// Call when the queue pair is destroyed. Moves the id of its connection to kEnded, and queues
/// RDMA_CM_EVENT_DISCONNECTED if the id was connected. Also calls settle_ending() and returns its
/// result.
bool forget_qp(verbs::QpNum num);

/// Calls `function`, which returns 0 or an errno. Returns 0, or sets errno and returns -1, as
/// functions of the C interface do.
template <typename Function>
int cm_result(Function function) noexcept {
  const int code = guarded(function);
  return code == 0 ? 0 : minus_one(code);
}

}  // namespace iwarp::rdma_core
