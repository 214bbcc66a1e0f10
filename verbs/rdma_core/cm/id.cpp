// SPDX-License-Identifier: Apache-2.0
// Creates and destroys objects of type rdma_cm_id, and moves them between event channels.
#include "cm/id.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <new>

#include "cm/address.hpp"
#include "cm/datagrams.hpp"
#include "cm/ib_attr.hpp"
#include "objects/objects.hpp"
#include "process/acks.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

/// The parts of a destroyed id that must be closed or destroyed while Cm::mutex is not locked.
struct Leftovers {
  std::unique_ptr<net::Listener> listener;
  std::unique_ptr<net::ConnectRequest> request;
  std::vector<std::unique_ptr<CmEventRecord>> events;
  std::optional<verbs::QpNum> connected;
  /// The queue pair of a connection whose end was not reported yet.
  std::optional<verbs::QpNum> ended;
};

/// Removes the id from all tables, so that it gets no more events.
/// [RCM-33, RCM-35, RCM-40]
Leftovers detach(CmId& id) {
  Leftovers out;
  const std::lock_guard lock(id.cm.mutex);
  std::erase(id.cm.listening, &id);
  std::erase(id.cm.reusing, &id);
  forget_datagrams(id);
  // The id's connection requests in Cm::endings, which have not been queued yet.
  std::vector<std::unique_ptr<CmEventRecord>> requests;
  std::erase_if(id.cm.endings, [&](CmEnding& end) {
    if (end.event->owner != &id) return false;
    if (end.is_request()) {
      requests.push_back(std::move(end.event));
    } else {
      out.ended = end.qp_num;
    }
    return true;
  });
  if (const auto it = id.cm.by_qp.find(id.qp_num); it != id.cm.by_qp.end() && it->second == &id) {
    if (id.life.is(IdState::kConnecting)) {
      it->second = nullptr;
    } else {
      id.cm.by_qp.erase(it);
      out.connected = id.qp_num;
    }
  }
  out.listener = std::move(id.listener);
  out.request = std::move(id.request);
  id.channel().events.remove([&](CmEventRecord* event) {
    if (event->owner != &id) return false;
    out.events.emplace_back(event);
    return true;
  });
  id.outstanding -= static_cast<unsigned>(out.events.size());
  std::ranges::move(requests, std::back_inserter(out.events));
  return out;
}

// [RCM-36, RCM-37, RCM-38, RCM-39]
void end(CmId& id, Leftovers& left) {
  left.listener.reset();
  // Drops the requests that the program has not seen, and does not reject them, because the peers
  // may find another listener when they retry.
  for (const auto& event : left.events) {
    if (event->child != nullptr && event->child->request != nullptr) event->child->request->drop();
  }
  left.events.clear();
  // If the id itself was made for a connection request, destroys the ConnectRequest, whose
  // destructor rejects the request.
  left.request.reset();
  if (left.ended) {
    announce_all(*id.core, *left.ended);
    id.core->recheck();
  }
  if (left.connected) {
    announce_all(*id.core, *left.connected);
    end_connection(*id.core, *left.connected);
  }
}

/// Some programs bind an id only to check whether it gets a device: libfabric does this for each
/// address of the host, and librpma for one address. At a loopback address the id gets no device.
/// If the program then exits without having tried to open a device, logs that the program used no
/// device because of the loopback address.
void note_no_device(CmId& id) {
  {
    const std::lock_guard lock(id.cm.mutex);
    if (!id.life.is(IdState::kBound) || id.abi.verbs != nullptr) return;
  }
  if (!is_loopback(id.source())) return;
  [[maybe_unused]] static const int kRegistered = std::atexit([] {
    if (Core::was_tried()) return;
    log_refusal(
        "the program used no RDMA device: rdma_bind_addr() assigns no device to an id with a "
        "loopback address, as in the kernel (bind to another address of this host)");
  });
}

/// Waits until `unacknowledged` returns 0. After kPatience, logs once that `call` waits.
/// [RCM-34, RCM-324]
template <typename Count>
void await_acks(Cm& cm, std::unique_lock<std::mutex>& lock, const char* call,
                Count unacknowledged) {
  const auto is_done = [&] { return unacknowledged() <= 0; };
  if (cm.acknowledged.wait_for(lock, kPatience, is_done)) return;
  log_wait(call, static_cast<unsigned>(unacknowledged()), "rdma_ack_cm_event");
  cm.acknowledged.wait(lock, is_done);
}

// [RCM-32, RCM-238, RCM-344, RCM-356]
int destroy(CmId& id) {
  if (!id.alive()) return 0;
  note_no_device(id);
  acknowledge_last(id);
  Leftovers left = detach(id);
  end(id, left);
  {
    std::unique_lock lock(id.cm.mutex);
    await_acks(id.cm, lock, "rdma_destroy_id", [&] { return static_cast<int>(id.outstanding); });
  }
  destroy_stand_in(id);
  delete &id;
  return 0;
}

// [RCM-25, RCM-26, RCM-27, RCM-28, RCM-29, RCM-30, RCM-234, RCM-361]
int create(rdma_event_channel* channel, rdma_cm_id** out, void* context, rdma_port_space space) {
  const bool datagrams = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB;
  if (space != RDMA_PS_TCP && !datagrams) {
    refuse("rdma_create_id() for this port space",
           "the device supports RDMA_PS_TCP and, with --as roce, RDMA_PS_UDP and RDMA_PS_IPOIB");
    return EPROTONOSUPPORT;
  }
  if (const char* const why = why_no_datagrams(); datagrams && why != nullptr) {
    refuse("rdma_create_id() for datagrams", why);
    return EPROTONOSUPPORT;
  }
  auto id = std::make_unique<CmId>();
  id->abi.context = context;
  id->abi.ps = space;
  id->abi.qp_type = datagrams ? IBV_QPT_UD : IBV_QPT_RC;
  id->abi.channel = channel;
  if (channel == nullptr) make_synchronous(*id);
  *out = &id.release()->abi;
  return 0;
}

/// Implements rdma_migrate_id(). Moves the queued events of the id to the new channel, and waits
/// until the program has acknowledged the events of the id that it has already read.
/// [RCM-321, RCM-322, RCM-323, RCM-325, RCM-326, RCM-327, RCM-328, RCM-329]
int migrate(CmId& id, rdma_event_channel* channel) {
  if (channel == nullptr && id.synchronous()) {
    return refused(EINVAL,
                   "channel is null, which would make the id synchronous, but the id already is "
                   "(pass a channel)");
  }
  acknowledge_last(id);
  auto own = std::move(id.own_channel);
  auto fresh = channel == nullptr ? std::make_unique<EventChannel>() : nullptr;
  EventChannel& to = fresh != nullptr ? *fresh : EventChannel::of(channel);
  std::unique_lock lock(id.cm.mutex);
  const auto moved = static_cast<unsigned>(id.channel().events.move_to(
      to.events, [&](const CmEventRecord* event) { return event->owner == &id; }));
  id.abi.channel = &to.abi;
  id.own_channel = std::move(fresh);
  const unsigned target = id.acknowledged + id.outstanding - moved;
  await_acks(id.cm, lock, "rdma_migrate_id",
             [&] { return static_cast<int>(target - id.acknowledged); });
  return 0;
}

}  // namespace

CmId::CmId() = default;
CmId::~CmId() = default;

// Returns the only Cm of the process. Handlers of pthread_atfork(3) ensure that in the child of a
// fork, the mutex is unlocked, and the tables contain neither ids nor connections of the parent.
Cm& cm() {
  static Cm* const kCm = [] {
    static Cm* made = new Cm(settings());
    const int failed = pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); },
                                      [] {
                                        made->listening.clear();
                                        made->reusing.clear();
                                        made->by_qp.clear();
                                        // Leaks the events on purpose, because the destructor of an
                                        // event rejects its request, and this request belongs to
                                        // the parent.
                                        for (auto& end : made->endings) (void)end.event.release();
                                        made->endings.clear();
                                        made->mutex.unlock();
                                      });
    if (failed != 0) throw std::bad_alloc();
    return made;
  }();
  return *kCm;
}

// [RCM-165, RCM-166, RCM-167]
int check_private_data(const CmId& id, const char* call, std::size_t most, std::size_t size) {
  // An id that is not resolved has no core. The call that passes the private data then fails.
  Hooks* const hooks = id.core != nullptr ? id.core->hooks() : nullptr;
  if (hooks != nullptr) hooks->sending_private_data(call, size, most);
  if (id.cm.persona != Persona::kRoce || size <= most) return 0;
  return refused(EINVAL, "private_data_len {}: must be at most {}", size, most);
}

int refuse_in_state(const CmId& id, const char* needs) {
  return refused(EINVAL, "the id is in state {} ({})", to_string(id.life.state()), needs);
}

void use_core(CmId& id) {
  if (id.core == nullptr) id.core = &Core::get();
}

// [RCM-71, RCM-95, RCM-116, RCM-201]
void use_device(CmId& id) {
  if (id.abi.verbs == nullptr) {
    ibv_context* const verbs = default_context(device_of(id));
    id.core = &Context::of(verbs).core;
    id.abi.verbs = verbs;
    if (id.abi.pd == nullptr) id.abi.pd = default_pd(verbs);
    id.abi.port_num = 1;
  }
  if (id.cm.persona == Persona::kRoce) show_addresses_as_ib(id);
}

// [RCM-236, RCM-252]
void make_synchronous(CmId& id) {
  auto channel = std::make_unique<EventChannel>();
  id.abi.channel = &channel->abi;
  id.own_channel = std::move(channel);
}

bool settle_ending(verbs::QpNum num) {
  Cm& all = cm();
  const std::lock_guard lock(all.mutex);
  bool any = false;
  for (CmEnding& end : all.endings) {
    if (end.qp_num != num) continue;
    end.qp_num = 0;
    any = true;
  }
  return any;
}

// As with the kernel and rdma-core, a program gets RDMA_CM_EVENT_DISCONNECTED even if the program
// itself has destroyed the queue pair of the connection.
// [RCM-41, RCM-216]
bool forget_qp(verbs::QpNum num) {
  const bool any = settle_ending(num);
  Cm& all = cm();
  const std::lock_guard lock(all.mutex);
  const auto it = all.by_qp.find(num);
  if (it == all.by_qp.end()) return any;
  CmId* const id = it->second;
  all.by_qp.erase(it);
  if (id == nullptr) return any;
  const bool connected = id->life.is(IdState::kConnected);
  (void)id->life.step(IdEvent::kOver);
  if (connected) queue_event(make_event(*id, RDMA_CM_EVENT_DISCONNECTED));
  return any;
}

// [RCM-342]
void report_removed(const Device& device) {
  Cm& all = cm();
  const std::lock_guard lock(all.mutex);
  const auto tell = [&](CmId& id) {
    if (&device_of(id) == &device) queue_event(make_event(id, RDMA_CM_EVENT_DEVICE_REMOVAL));
  };
  for (CmId* id : all.listening) {
    if (!is_any(id->source())) tell(*id);
  }
  for (const auto& [num, id] : all.by_qp) {
    if (id != nullptr) tell(*id);
  }
}

extern "C" {

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) {
  const CallSite here(__builtin_return_address(0), "rdma_create_id");
  return cm_result([&] { return create(channel, id, context, space); });
}

int rdma_destroy_id(rdma_cm_id* id) {
  return cm_result([&] { return destroy(CmId::of(id)); });
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  const CallSite here(__builtin_return_address(0), "rdma_migrate_id");
  return cm_result([&] { return migrate(CmId::of(id), channel); });
}

// [RCM-45]
__be16 rdma_get_src_port(rdma_cm_id* id) { return htons(port_of(CmId::of(id).source())); }

// [RCM-46]
__be16 rdma_get_dst_port(rdma_cm_id* id) { return htons(port_of(CmId::of(id).destination())); }

}  // extern "C"

}  // namespace iwarp::rdma_core
