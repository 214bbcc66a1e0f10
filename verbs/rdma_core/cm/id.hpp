// SPDX-License-Identifier: Apache-2.0
// CmId is the object behind an rdma_cm_id. This header also has the events and event channels of
// ids, and Cm, the state that all ids share. Cm::mutex guards the state of each id, the owner of
// each event, and the table that maps each queue pair to the id that gets its events.
//
// Lock order: Core's lock of queue pairs, then Cm::mutex, then the lock of a channel's queue. A
// thread of the program that has locked Cm::mutex waits only for acknowledgements, and unlocks the
// mutex while it waits.
#pragma once

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cm/id_fsm.hpp"
#include "cm/numbers.hpp"
#include "cm/ports.hpp"
#include "cm/sidr/sidr.hpp"
#include "device/device.hpp"
#include "process/call_site.hpp"
#include "process/core.hpp"
#include "process/errno_table.hpp"
#include "process/event_queue.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct CmId;

/// An event of an id, from its creation until the program acknowledges it.
struct CmEventRecord {
  rdma_cm_event abi{};  ///< must be the first member, as the cast in of() requires
  /// The id of the event, or the listening id if the event is a connection request. The program
  /// cannot destroy this id before it has acknowledged the event.
  CmId* owner;
  std::vector<std::byte> private_data;
  std::optional<sockaddr_storage> source;  ///< in ESTABLISHED events: the local address
  verbs::QpNum connected = 0;              ///< in ESTABLISHED events: number of the queue pair
  /// The new id for a connection request. rdma_get_cm_event() passes it to the program.
  std::unique_ptr<CmId> child;

  /// The list node for the event, so that queueing the event allocates no memory.
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

/// An event that is not queued for the program yet. It is either the end of a connection, which
/// must wait until the program has polled its completions (see tell_end_early() in cm/events.cpp),
/// or a connection request that arrived at the same port after that end.
struct CmEnding {
  std::unique_ptr<CmEventRecord> event;
  std::uint16_t own_port = 0;  ///< local port of the connection, without IWARP_PORT_OFFSET
  bool is_request() const { return event->child != nullptr; }
  /// The number of the queue pair whose completions the program must poll first. The number is 0 if
  /// this event is a request, or if it no longer waits for completions.
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
  /// The bound ids with RDMA_OPTION_ID_REUSEADDR, without those that listen. They may be bound to
  /// the same address.
  std::vector<CmId*> reusing;
  /// Maps the number of a queue pair to the id that gets its events, from rdma_connect() or
  /// rdma_accept() until the connection ends. The pointer is null if the program has destroyed the
  /// id while the connection was being set up.
  std::unordered_map<verbs::QpNum, CmId*> by_qp;
  std::list<CmEnding> endings;
  /// The channels that the program has destroyed but that are not freed yet; see retire().
  std::deque<EventChannel*> retired;
};
Cm& cm();

struct CmId {
  CmId();
  ~CmId();
  CmId(const CmId&) = delete;
  CmId& operator=(const CmId&) = delete;
  static CmId& of(rdma_cm_id* id) { return *reinterpret_cast<CmId*>(id); }
  // [RCM-47]
  sockaddr& source() { return abi.route.addr.src_addr; }
  const sockaddr& source() const { return abi.route.addr.src_addr; }
  // [RCM-48]
  sockaddr& destination() { return abi.route.addr.dst_addr; }
  const sockaddr& destination() const { return abi.route.addr.dst_addr; }
  EventChannel& channel() { return EventChannel::of(abi.channel); }
  /// Returns whether the id may be used. Returns false in the child of a fork if the id uses the
  /// Core of the parent.
  bool alive() const { return core == nullptr || core->alive(); }
  /// Returns whether the program passed no channel when it created the id. Calls for such an id
  /// wait for their events.
  bool synchronous() const { return own_channel != nullptr; }

  rdma_cm_id abi{};  ///< must be the first member, as the cast in of() requires
  Cm& cm = rdma_core::cm();
  ibv_sa_path_rec path{};  ///< set only with IWARP_AS=roce
  Core* core = nullptr;    ///< null while the id uses no device
  std::unique_ptr<EventChannel> own_channel;
  // The dispatcher does not use the members below. Only calls of the program use them.
  std::optional<net::BoundSocket> bound;
  /// With IWARP_AS=roce: the queue pair of the connection if the program has passed the number of
  /// a queue pair that cannot carry one, for example of type UD. UCX makes such a queue pair only
  /// for its number. Null otherwise. Destroyed with the id.
  ibv_qp* stand_in = nullptr;
  bool v6_only = false;
  bool reuses_address = false;  ///< RDMA_OPTION_ID_REUSEADDR is set
  /// The value of RDMA_OPTION_ID_ACK_TIMEOUT, in the encoding of ibv_qp_attr::timeout.
  std::optional<std::uint8_t> ack_timeout;
  /// The queue pair attributes that rdma_create_ep() has stored for ids from rdma_get_request().
  std::optional<ibv_qp_init_attr> child_qp;
  /// rdma_addrinfo::ai_connect of rdma_create_ep(), which rdma_connect() sends first.
  std::vector<std::byte> connect_data;
  /// The multicast groups that the program has joined and not left.
  struct Group {
    verbs::IpAddress address;
    bool only_sends = false;  ///< RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
  };
  std::vector<Group> groups;
  // Cm::mutex guards the members below.
  IdLife life;
  verbs::QpNum qp_num = 0;  ///< number of the id's queue pair, set in state kConnecting and later
  bool passive = false;     ///< the id was made for a connection request
  bool has_qp = false;      ///< rdma_create_qp() made a queue pair before the id began to connect
  bool is_rsocket = false;  ///< the id belongs to an rsocket
  bool disconnect_wanted = false;  ///< rdma_disconnect() was called in state kConnecting
  std::uint16_t own_port = 0;  ///< local port of the connection, set in state kConnected and later
  /// The numbers on which this end and its peer agree. While the id has only a request, the numbers
  /// for which the request asks; while only this end has connected, those for which this end asks.
  CmNumbers numbers;
  bool peer_sends_numbers = false;  ///< the id was made for a request that contains CmNumbers
  std::unique_ptr<net::Listener> listener;
  std::unique_ptr<net::ConnectRequest> request;
  /// The UDP port of a datagram id. An id that was made for a request shares the port of its
  /// listener.
  std::shared_ptr<SidrEnd> sidr;
  std::optional<SidrEnd::Peer> asked_by;  ///< the peer for whose request this datagram id was made
  int backlog = 0;                        ///< maximum of `waiting_requests` if this id listens
  /// If this id listens, the number of its connection requests that the program has not read yet.
  std::atomic<int> waiting_requests{0};
  /// Number of events, queued or read, that the program has not acknowledged yet.
  unsigned outstanding = 0;
  unsigned acknowledged = 0;  ///< number of events that the program has acknowledged so far
};

/// Sets the Core of the id. Makes the Core first if the process has none, and throws
/// std::system_error if that fails.
void use_core(CmId& id);
/// Binds the id to the device that has its source address: sets rdma_cm_id::verbs, pd and port_num.
void use_device(CmId& id);
/// Returns the device of the id: the one to which use_device() has bound it, or else the one that
/// has the id's source address.
Device& device_of(const CmId& id);
Port port_of_device(const CmId& id);
/// Returns the protection domain that an id uses if the program passes none.
ibv_pd* default_pd(ibv_context* verbs);
/// Creates CmId::stand_in, unless the id has one. Throws std::system_error if that fails.
void make_stand_in(CmId& id);
void destroy_stand_in(CmId& id);
/// Detaches the queue pair of the id from the groups that the id has joined.
void detach_groups(CmId& id);
/// Gives the id an event channel that only this id uses, so that later calls for the id wait for
/// their events.
void make_synchronous(CmId& id);
/// Binds the id to a TCP port. rdma_bind_addr() calls this function, and so do other functions if
/// the id is not bound yet. is_ip() must be true for `address`. Returns 0 or an errno.
int bind_to(CmId& id, const sockaddr& address);

/// Lets other ids with RDMA_OPTION_ID_REUSEADDR bind to the address of this bound id.
void allow_reuse(CmId& id);
/// Implements RDMA_OPTION_ID_AFONLY. Returns 0 or an errno.
int set_v6_only(CmId& id, bool on);

/// make_event() makes an event for the id, and queue_event() appends it to the queue of the id's
/// channel. Call both functions with Cm::mutex locked.
std::unique_ptr<CmEventRecord> make_event(CmId& id, rdma_cm_event_type type, int status = 0);
void queue_event(std::unique_ptr<CmEventRecord> event) noexcept;
/// Makes the id for a request that `listener` has received: copies the attributes that the two
/// share, and moves the new id to kRequested.
std::unique_ptr<CmId> make_child(const CmId& listener, const sockaddr_storage& own,
                                 const sockaddr_storage& peer);
/// Puts `child` into `event`, a connection request of `listener`.
void set_child(CmEventRecord& event, CmId& listener, std::unique_ptr<CmId> child);
/// Sets the private data of the event and of `param`, which is its `param.conn` or `param.ud`. The
/// program sees at most the first UINT8_MAX bytes.
/// [RCM-162, RCM-163, RCM-164]
template <typename Param>
void set_private_data(CmEventRecord& event, Param& param, std::vector<std::byte> data) {
  event.private_data = std::move(data);
  param.private_data = event.private_data.empty() ? nullptr : event.private_data.data();
  param.private_data_len =
      static_cast<std::uint8_t>(std::min<std::size_t>(event.private_data.size(), UINT8_MAX));
}
/// If the id is synchronous, waits for its next event and stores the event in rdma_cm_id::event.
/// Returns 0 or an errno, which may be the status of the event. If the id is not synchronous,
/// returns 0 at once.
int wait_for_event(CmId& id);
/// Acknowledges the last event of a synchronous id, if it has one.
void acknowledge_last(CmId& id);

/// Closes the connection of the queue pair, if it still has one. First waits up to kGrace (200 ms)
/// for outstanding requests to finish.
void end_connection(Core& core, verbs::QpNum num);
/// Pushes all completions of the queue pair to its completion queues. Call when the CM will report
/// no further event of the queue pair. Completions that are held back until such an event would
/// otherwise never be pushed.
void announce_all(Core& core, verbs::QpNum num);
/// Call when the queue pair is destroyed or reset. If the event DISCONNECTED of the last connection
/// is still waiting for the program to poll completions, ends this wait. Returns whether the event
/// was waiting.
bool settle_ending(verbs::QpNum num);
/// Reports DEVICE_REMOVAL to each id that listens at an address of the device or has a queue pair.
void report_removed(const Device& device);
/// Call when the queue pair is destroyed. Changes the state of its id to kEnded. If the id was
/// connected, also queues RDMA_CM_EVENT_DISCONNECTED. Calls settle_ending() and returns the result
/// of that call.
bool forget_qp(verbs::QpNum num);

/// Tells careful mode that `call` passes `size` bytes of private data. `most` is the maximum of the
/// kernel's CM for RoCE. Returns EINVAL after refused() if the program sees a RoCE adapter and
/// passes more. Call without locks held.
int check_private_data(const CmId& id, const char* call, std::size_t most, std::size_t size);

/// Returns EINVAL after refused(): the state of the id does not allow the call. `needs` says what
/// must be done first.
int refuse_in_state(const CmId& id, const char* needs);

/// Calls `function`, which returns 0 or an errno. Returns 0, or calls explain_failure(), sets errno
/// and returns -1, as functions of the C interface do.
/// [RCM-1]
template <typename Function>
int cm_result(Function function) noexcept {
  const int code = guarded(function);
  if (code == 0) return 0;
  explain_failure(code);
  return minus_one(code);
}

}  // namespace iwarp::rdma_core
