// SPDX-License-Identifier: Apache-2.0
// Ids of the CM, their events and channels, and Cm, which all of them share. One lock, Cm::mutex,
// guards the state of each id, the owner of each event, and the id that gets the events of a queue
// pair.
//
// Lock order: Core's queue pairs, then Cm::mutex, then a channel's queue. A thread of the program
// that holds Cm::mutex waits only for an acknowledgement, and releases the mutex during that wait.
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

/// An event for the program, until the program acknowledges it.
struct CmEventRecord {
  rdma_cm_event abi{};  ///< first
  CmId* owner;          ///< cannot be destroyed before the event; of a request, the listening id
  std::vector<std::byte> private_data;
  std::optional<sockaddr_storage> source;  ///< local address of the id's connection
  verbs::QpNum connected = 0;              ///< queue pair of that connection
  /// The new id of a request. rdma_get_cm_event() passes it to the program.
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
  rdma_event_channel abi{};  ///< first
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
  /// Returns false in the child of a fork for an id that uses the parent's Core.
  bool alive() const { return core == nullptr || core->alive(); }
  /// Returns whether the id has a channel of its own, so that its calls wait for their events.
  bool synchronous() const { return own_channel != nullptr; }

  rdma_cm_id abi{};        ///< first
  ibv_sa_path_rec path{};  ///< used as RoCE only
  Core* core = nullptr;    ///< null while it uses no device
  std::unique_ptr<EventChannel> own_channel;
  // Used only by the program's calls.
  std::optional<net::BoundSocket> bound;
  bool v6_only = false;
  std::optional<std::uint8_t> ack_timeout;   ///< RDMA_OPTION_ID_ACK_TIMEOUT, as IBV_QP_TIMEOUT
  std::optional<ibv_qp_init_attr> child_qp;  ///< of rdma_create_ep(), for the ids of requests
  // Guarded by Cm::mutex.
  IdLife life;
  verbs::QpNum qp_num = 0;  ///< set from kConnecting on
  bool passive = false;     ///< made by a request
  bool has_qp = false;      ///< had a queue pair of rdma_create_qp() when it began to connect
  bool is_rsocket = false;  ///< its connection is an rsocket's
  bool disconnect_wanted = false;  ///< to be disconnected when kConnecting ends
  std::uint16_t own_port = 0;      ///< local port of its connection, set from kConnected on
  std::unique_ptr<net::Listener> listener;
  std::unique_ptr<net::ConnectRequest> request;
  std::shared_ptr<SidrEnd> sidr;          ///< datagrams: the port; of a request, the listener's
  std::optional<SidrEnd::Peer> asked_by;  ///< datagrams: the peer whose request made the id
  int backlog = 0;                        ///< of a listener
  std::atomic<int> waiting_requests{0};  ///< of a listener: requests that the program has not taken
  unsigned outstanding = 0;              ///< events that are queued, or taken and not acknowledged
  unsigned acknowledged = 0;             ///< number of events acknowledged so far
};

/// The end of a connection that has not been reported to the program yet, see tell_end() in
/// cm/events.cpp, or a request that arrived at the same port after it.
struct CmEnding {
  std::unique_ptr<CmEventRecord> event;
  std::uint16_t own_port = 0;  ///< the program's port number
  bool is_request() const { return event->child != nullptr; }
  verbs::QpNum qp_num = 0;  ///< 0: a request, or the end waits for no completions any more
  std::chrono::steady_clock::time_point at_latest;
};

/// The state that all ids share.
struct Cm {
  explicit Cm(const Settings& settings) : persona(settings.persona), ports(settings.port_offset) {}

  const Persona persona;  ///< what kind of device the program sees
  const PortMap ports;
  std::mutex mutex;
  std::condition_variable acknowledged;
  std::vector<CmId*> listening;
  /// The id that gets the events of a queue pair, from rdma_connect() or rdma_accept() until its
  /// connection ends. Null if the id was destroyed while it connected.
  std::unordered_map<verbs::QpNum, CmId*> by_qp;
  std::list<CmEnding> endings;
  std::deque<EventChannel*> retired;  ///< destroyed by the program and not freed yet, see retire()
};
Cm& cm();

/// Sets the Core of the id, and makes the Core if the process has none. Throws std::system_error if
/// it cannot be made.
void use_core(CmId& id);
/// Binds the id to the process's device: sets verbs, pd and port_num.
void use_device(CmId& id);
/// Returns the protection domain of ids for which the program passes none.
ibv_pd* default_pd(ibv_context* verbs);
/// Gives the id a channel of its own, so that later calls wait for their events.
void make_synchronous(CmId& id);
/// Binds a TCP port for rdma_bind_addr() and for functions that imply it. `address` must be
/// is_ip(). Returns 0 or an errno.
int bind_to(CmId& id, const sockaddr& address);

/// Make and queue an event of the id. Call both with Cm::mutex held.
std::unique_ptr<CmEventRecord> make_event(CmId& id, rdma_cm_event_type type, int status = 0);
void queue_event(std::unique_ptr<CmEventRecord> event) noexcept;
/// If the id is synchronous, waits for the next event and stores it in id->event. Returns 0 or an
/// errno, which may be the status of the event. If it is not, returns 0 at once.
int wait_for_event(CmId& id);
/// Acknowledges the last event of a synchronous id, if it has one.
void acknowledge_last(CmId& id);

/// Closes the connection that an id has or had. Waits for a moment at most.
void end_connection(Core& core, verbs::QpNum num);
/// Announces all completions of the queue pair. Call when the CM will report no more events of it,
/// so that no completion has to wait for one.
void announce_all(Core& core, verbs::QpNum num);
/// Call when the queue pair is destroyed or reset: the end of its last connection no longer waits
/// for completions. Returns whether it was waiting.
bool settle_ending(verbs::QpNum num);
/// Reports DEVICE_REMOVAL to each id that listens at an address of the device or has a queue pair.
void tell_device_removed();
/// Call when the queue pair is destroyed: ends its connection for the id that had it. Also calls
/// settle_ending() and returns its result.
bool forget_qp(verbs::QpNum num);

/// Converts the result of `function`, 0 or an errno, to that of a function of the C interface.
template <typename Function>
int cm_result(Function function) noexcept {
  const int code = guarded(function);
  return code == 0 ? 0 : minus_one(code);
}

}  // namespace iwarp::rdma_core
