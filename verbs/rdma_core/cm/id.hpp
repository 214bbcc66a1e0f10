// SPDX-License-Identifier: Apache-2.0
// Ids of the CM, their events and channels, and what all of them share. Which state an id is in,
// who owns an event, and who may be told of it: decided here, under one lock.
//
// Lock order: Core's queue pairs, then Cm::mutex, then a channel's queue. No thread of the program
// waits for anything but an acknowledgement while it holds Cm::mutex, and that wait lets go of it.
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

/// An event of the program's, until it is acknowledged.
struct CmEventRecord {
  rdma_cm_event abi{};  ///< first
  CmId* owner;          ///< cannot be destroyed before; for a request the listening id
  std::vector<std::byte> private_data;
  std::optional<sockaddr_storage> source;  ///< where the id's connection really comes from
  verbs::QpNum connected = 0;              ///< that connection's
  /// The id that a request brings; the program's from rdma_get_cm_event() on.
  std::unique_ptr<CmId> child;

  /// Its place in the queue, so that to queue it needs no memory.
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
  /// False in the child of a fork for what the parent used.
  bool alive() const { return core == nullptr || core->alive(); }
  /// Has events of its own: its calls wait for their outcome.
  bool synchronous() const { return own_channel != nullptr; }

  rdma_cm_id abi{};        ///< first
  ibv_sa_path_rec path{};  ///< as RoCE
  Core* core = nullptr;    ///< null while it uses no device
  std::unique_ptr<EventChannel> own_channel;
  // Of the program's calls alone.
  std::optional<net::BoundSocket> bound;
  bool v6_only = false;
  std::optional<std::uint8_t> ack_timeout;   ///< RDMA_OPTION_ID_ACK_TIMEOUT, as IBV_QP_TIMEOUT
  std::optional<ibv_qp_init_attr> child_qp;  ///< of rdma_create_ep(), for those that ask
  // Under Cm::mutex.
  IdLife life;
  verbs::QpNum qp_num = 0;         ///< from kConnecting on
  bool passive = false;            ///< made by a request
  bool has_qp = false;             ///< from rdma_create_qp(), when it began to connect
  bool is_rsocket = false;         ///< its connection is that of an rsocket
  bool disconnect_wanted = false;  ///< as soon as it is connected
  std::uint16_t own_port = 0;      ///< of its connection, from kConnected on
  std::unique_ptr<net::Listener> listener;
  std::unique_ptr<net::ConnectRequest> request;
  std::shared_ptr<SidrEnd> sidr;          ///< datagrams: the port; of a request the listener's
  std::optional<SidrEnd::Peer> asked_by;  ///< datagrams: who made it
  int backlog = 0;                        ///< of a listener
  std::atomic<int> waiting_requests{0};   ///< to it, that the program has not taken
  unsigned outstanding = 0;               ///< events that are queued, or taken and not acknowledged
  unsigned acknowledged = 0;              ///< events so far
};

/// A connection's end that the program is not told yet, see tell_end() in cm/events.cpp, or a
/// request that came to the same port behind it.
struct CmEnding {
  std::unique_ptr<CmEventRecord> event;
  std::uint16_t own_port = 0;  ///< as the program knows it
  bool is_request() const { return event->child != nullptr; }
  verbs::QpNum qp_num = 0;  ///< 0: a request, or no completions are left to be waited for
  std::chrono::steady_clock::time_point at_latest;
};

/// What all ids share.
struct Cm {
  explicit Cm(const Settings& settings) : persona(settings.persona), ports(settings.port_offset) {}

  const Persona persona;  ///< what kind of device the program sees
  const PortMap ports;
  std::mutex mutex;
  std::condition_variable acknowledged;
  std::vector<CmId*> listening;
  /// Who hears of a queue pair from rdma_connect() or rdma_accept() until its connection ends;
  /// null: the id was destroyed while it connected.
  std::unordered_map<verbs::QpNum, CmId*> by_qp;
  std::list<CmEnding> endings;
  std::deque<EventChannel*> retired;  ///< destroyed, but see retire()
};
Cm& cm();

/// Gives the id the Core of the process, which is made if it has none. Throws std::system_error.
void use_core(CmId& id);
/// Makes the id one of the process's device: verbs, pd, port_num.
void use_device(CmId& id);
/// The protection domain of ids whose program brings none.
ibv_pd* default_pd(ibv_context* verbs);
/// Events from now on go to a channel of its own, and its calls wait for them.
void make_synchronous(CmId& id);
/// Binds a TCP port for rdma_bind_addr() and those that imply it; `address` is is_ip(). An errno.
int bind_to(CmId& id, const sockaddr& address);

/// Under Cm::mutex.
std::unique_ptr<CmEventRecord> make_event(CmId& id, rdma_cm_event_type type, int status = 0);
void queue_event(std::unique_ptr<CmEventRecord> event) noexcept;
/// For a synchronous id: waits for the next event, and makes it id->event. 0 or an errno, which
/// may be what the event says. Otherwise 0 at once.
int wait_for_event(CmId& id);
/// A synchronous id's last event, if it has one.
void acknowledge_last(CmId& id);

/// The orderly end of a connection that an id has or had; waits for a moment at most.
void end_connection(Core& core, verbs::QpNum num);
/// No event of the CM will be told about the queue pair, so no completion waits for one.
void announce_all(Core& core, verbs::QpNum num);
/// The queue pair is destroyed or reset: the end of its last connection waits for nothing. True: it
/// had waited.
bool settle_ending(verbs::QpNum num);
/// DEVICE_REMOVAL, for each id that listens on an address of the device or has a queue pair.
void tell_device_removed();
/// ibv_destroy_qp() has taken it away: its connection is over for the id that had it. True as of
/// settle_ending().
bool forget_qp(verbs::QpNum num);

/// The result of a function of the C interface from what `function` returns, an errno.
template <typename Function>
int cm_result(Function function) noexcept {
  const int code = guarded(function);
  return code == 0 ? 0 : minus_one(code);
}

}  // namespace iwarp::rdma_core
