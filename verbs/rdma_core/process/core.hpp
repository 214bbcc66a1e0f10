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

struct RcQp;
struct UdQp;

class Core {
 public:
  /// What assembly.cpp passes to a new Core: the functions that make the services and the hooks,
  /// and a setting. The Core calls `services` before `hooks`.
  struct Parts {
    std::function<std::vector<std::unique_ptr<Service>>(Core&)> services;
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
  /// Returns the service of type T. Call only if assembly.cpp makes a service of this type.
  template <typename T>
  T& service() {
    for (const auto& service : services_) {
      if (auto* const found = dynamic_cast<T*>(service.get())) return *found;
    }
    std::terminate();
  }
  const std::vector<std::unique_ptr<Service>>& services() const { return services_; }
  /// Calls Service::recheck() of all services.
  void recheck() const {
    for (const auto& service : services_) service->recheck();
  }

  UnloggedEnds& unlogged_ends() { return unlogged_ends_; }

  // The functions below add and remove queue pairs, and find a queue pair by its number. Events and
  // rdma_conn_param contain only the number of a queue pair.
  template <typename Queue>
  void add(verbs::QpNum num, Queue& qp) {
    const std::lock_guard lock(qps_mutex_);
    std::get<ByNumber<Queue>>(qps_)[num] = &qp;
  }
  template <typename Queue>
  void remove(verbs::QpNum num) {
    const std::lock_guard lock(qps_mutex_);
    std::get<ByNumber<Queue>>(qps_).erase(num);
  }
  /// Calls `use` with the RcQp whose number is `num`. The queue pair cannot be destroyed while
  /// `use` runs. Returns false if there is no RcQp with this number.
  template <typename Function>
  bool with_qp(verbs::QpNum num, Function use) {
    const std::lock_guard lock(qps_mutex_);
    return use_of<RcQp>(num, use);
  }
  /// Does the same as with_qp(), but also finds a UdQp.
  template <typename Function>
  bool with_any_qp(verbs::QpNum num, Function use) {
    const std::lock_guard lock(qps_mutex_);
    return use_of<RcQp>(num, use) || use_of<UdQp>(num, use);
  }

  /// Does the same as with_any_qp(), but the dispatcher dispatches no event while `use` runs. So
  /// `use` may call await_dispatcher().
  template <typename Function>
  void with_any_qp_undispatched(verbs::QpNum num, Function use) {
    const std::lock_guard still(dispatching_);
    (void)with_any_qp(num, use);
  }

  // The functions below add and remove completion queues and shared receive queues, and find a
  // queue by the address of the core's object. Events contain only this address.
  void add(const void* core_object, void* object);
  /// Removes the object, so that later events do not find it, and then calls await_dispatcher().
  void remove(const void* core_object);
  /// Calls `use` with the object that was added for `core_object`. The object cannot be removed
  /// while `use` runs. Returns false if no object was added for `core_object`.
  template <typename Function>
  bool with_object(const void* core_object, Function use) {
    const std::lock_guard lock(objects_mutex_);
    const auto it = objects_.find(core_object);
    if (it == objects_.end()) return false;
    use(it->second);
    return true;
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
  template <typename Queue>
  using ByNumber = std::unordered_map<verbs::QpNum, Queue*>;

  template <typename Queue, typename Function>
  bool use_of(verbs::QpNum num, Function& use) {
    const auto& qps = std::get<ByNumber<Queue>>(qps_);
    const auto it = qps.find(num);
    if (it == qps.end()) return false;
    use(*it->second);
    return true;
  }

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
  std::mutex qps_mutex_;  ///< locked before the locks of the CM and of event queues
  std::tuple<ByNumber<RcQp>, ByNumber<UdQp>> qps_;
  std::mutex objects_mutex_;  ///< locked before the locks of event queues
  std::unordered_map<const void*, void*> objects_;
  UnloggedEnds unlogged_ends_;
  std::vector<std::unique_ptr<Service>> services_;
  std::unique_ptr<Hooks> hooks_;
};

}  // namespace iwarp::rdma_core
