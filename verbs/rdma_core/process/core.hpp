// SPDX-License-Identifier: Apache-2.0
// Core: owns the only software RNIC of the process, the services, and the dispatcher thread, which
// passes the RNIC's events to the objects of the program. The Core is made when the program opens
// its first device. The Core is never destroyed, because programs exit without destroying their
// objects, and a destructor could delay the exit.
//
// After fork(2), the child has none of the parent's other threads. So the child closes the
// descriptors of the parent's Core, and does not use that Core any more. The child makes a new Core
// when it opens a device. In the child, a call on an object of the parent fails or does nothing;
// see alive().
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "hooks.hpp"
#include "iwarp/net/metrics.hpp"
#include "iwarp/net/rnic.hpp"
#include "process/service.hpp"
#include "process/tls_carriers.hpp"
#include "process/unlogged_ends.hpp"

namespace iwarp::rdma_core {

class BringUp;
class OutOfBand;
class PortEvents;
class Sidr;
struct Cq;
struct RcQp;
struct Srq;
struct UdQp;

struct Services {
  std::vector<std::unique_ptr<Service>> all;
  std::tuple<BringUp*, OutOfBand*, PortEvents*, Sidr*> named;  ///< those that Core::service() finds
};

/// Objects by key, with a table for each type.
template <typename Key, typename... Objects>
class Registry {
 public:
  template <typename Object>
  void add(Key key, Object& object) {
    const std::lock_guard lock(mutex_);
    std::get<Table<Object>>(tables_)[key] = &object;
  }
  template <typename Object>
  void remove(Key key) {
    const std::lock_guard lock(mutex_);
    std::get<Table<Object>>(tables_).erase(key);
  }
  /// Calls `use` with the object, whose type is one of `Wanted`. The object cannot be removed while
  /// `use` runs. Returns false if there is none.
  template <typename... Wanted, typename Function>
  bool with(Key key, Function& use) {
    const std::lock_guard lock(mutex_);
    const auto found = [&](const auto& table) {
      const auto it = table.find(key);
      if (it == table.end()) return false;
      use(*it->second);
      return true;
    };
    return (found(std::get<Table<Wanted>>(tables_)) || ...);
  }

 private:
  template <typename Object>
  using Table = std::unordered_map<Key, Object*>;
  std::mutex mutex_;
  std::tuple<Table<Objects>...> tables_;
};

class Core {
 public:
  /// What assembly.cpp passes to a new Core: the functions that make the services and the hooks,
  /// and a setting. The Core calls `services` before `hooks`.
  struct Parts {
    std::function<Services(Core&)> services;
    /// Returns null if neither fault injection nor careful mode is on.
    std::function<std::unique_ptr<Hooks>(Core&)> hooks;
    /// Address at which statistics are served; if it is empty, there are no statistics.
    std::string metrics;
    net::RnicOptions rnic;
  };

  /// Returns the Core of this process. The first call makes the Core. Throws std::system_error if
  /// the Core cannot be made.
  static Core& get();
  /// Returns the Core of this process, or null if no Core has been made.
  static Core* existing();
  /// Returns whether get() has tried to make the Core, successfully or not.
  static bool was_tried();

  /// Returns whether this process is the child of a fork whose parent had a Core at that time.
  static bool parent_had_core();

  /// Returns whether this Core may be used. Returns false in the child of a fork if this Core is
  /// the parent's.
  bool alive() const;
  net::Rnic& rnic() { return *rnic_; }
  const TlsCarriers& carriers() const { return carriers_; }
  /// Returns the channel from which the dispatcher reads the connection events of all queue pairs.
  net::CmChannel& cm_channel() { return cm_channel_; }

  /// Returns the first element of the chain of Hooks, or null if neither fault injection nor
  /// careful mode is on.
  Hooks* hooks() const { return hooks_.get(); }
  /// Returns the service of type T, which is a type of Services::named.
  template <typename T>
  T& service() {
    return *std::get<T*>(services_.named);
  }
  const std::vector<std::unique_ptr<Service>>& services() const { return services_.all; }
  void recheck() const {
    for (const auto& service : services()) service->recheck();
  }

  UnloggedEnds& unlogged_ends() { return unlogged_ends_; }

  // Events and rdma_conn_param contain only the number of a queue pair, and events of a completion
  // queue or SRQ only the address of the core's object. The functions below find the object.
  template <typename Queue>
  void add(verbs::QpNum num, Queue& qp) {
    qps_.add(num, qp);
  }
  template <typename Queue>
  void remove(verbs::QpNum num) {
    qps_.remove<Queue>(num);
  }
  /// Calls `use` with the RcQp whose number is `num`. The queue pair cannot be destroyed while
  /// `use` runs. Returns false if there is no RcQp with this number.
  template <typename Function>
  bool with_qp(verbs::QpNum num, Function use) {
    return qps_.with<RcQp>(num, use);
  }
  /// Does the same as with_qp(), but also finds a UdQp.
  template <typename Function>
  bool with_any_qp(verbs::QpNum num, Function use) {
    return qps_.with<RcQp, UdQp>(num, use);
  }

  /// Does the same as with_any_qp(), but the dispatcher dispatches no event while `use` runs. So
  /// `use` may call await_dispatcher().
  template <typename Function>
  void with_any_qp_undispatched(verbs::QpNum num, Function use) {
    const std::lock_guard still(dispatching_);
    (void)with_any_qp(num, use);
  }

  /// Adds a Cq or an Srq. `core` is the address of the core's object.
  template <typename Queue>
  void add(const void* core, Queue& queue) {
    queues_.add(core, queue);
  }
  /// Removes the Cq or Srq, so that later events do not find it, and then calls await_dispatcher().
  template <typename Queue>
  void remove(const void* core) {
    queues_.remove<Queue>(core);
    await_dispatcher();
  }
  /// Does the same as with_qp(), for the Cq or Srq that was added for `core`.
  template <typename Queue, typename Function>
  bool with_queue(const void* core, Function use) {
    return queues_.with<Queue>(core, use);
  }

  /// Waits until the dispatcher has handled all events that it has read. After that, the number or
  /// the address of an object that was removed before the call may be used for a new object.
  void await_dispatcher() { const std::lock_guard lock(dispatching_); }

  /// Handles the asynchronous events that were raised before the call, in this thread. The
  /// dispatcher may not have read them yet.
  void dispatch_async_events();

  /// Prevents the dispatcher from handling events until the returned lock is destroyed.
  std::unique_lock<std::recursive_mutex> pause_dispatcher() {
    return std::unique_lock(dispatching_);
  }

  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

 private:
  Core(TlsCarriers carriers, const Parts& parts);
  ~Core();
  /// Makes the Core with all services and hooks. This function is defined in assembly.cpp.
  static Core* make();
  /// Makes the Core. If that fails, logs the reason and throws std::system_error.
  static Core* make(TlsCarriers carriers, const Parts& parts);
  void start_metrics(const std::string& where);
  void dispatch(std::span<pollfd> watched);
  void dispatch(net::CmEvent event);
  void dispatch(const verbs::AsyncEvent& event);

  const TlsCarriers carriers_;
  const std::unique_ptr<net::Rnic> rnic_;
  std::unique_ptr<net::MetricsServer> metrics_;
  std::optional<net::MetricsServer::Watch> watch_;
  net::CmChannel cm_channel_;
  /// Locked while the dispatcher handles events. A thread that needs other locks, too, takes this
  /// one first. The mutex is recursive, so that a thread that has locked it may call
  /// await_dispatcher().
  std::recursive_mutex dispatching_;
  // Their mutexes are locked before the locks of the CM and of event queues.
  Registry<verbs::QpNum, RcQp, UdQp> qps_;
  Registry<const void*, Cq, Srq> queues_;
  UnloggedEnds unlogged_ends_;
  Services services_;
  std::unique_ptr<Hooks> hooks_;
};

}  // namespace iwarp::rdma_core
