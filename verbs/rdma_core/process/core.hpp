// SPDX-License-Identifier: Apache-2.0
// Core: the one software RNIC of the process, made when the first device is opened, the thread that
// carries its events to the objects of the program, and the services beside it. It is never
// destroyed: programs exit with objects alive, and exiting must not wait for anything.
//
// fork(2): threads do not survive into the child, so the parent's Core is abandoned there, its
// descriptors are closed, and a new one is made when the child opens a device. Objects of the
// parent are dead in the child: see alive().
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hooks.hpp"
#include "iwarp/net/metrics.hpp"
#include "iwarp/net/rnic.hpp"
#include "process/service.hpp"
#include "process/tls_carriers.hpp"
#include "process/untold_ends.hpp"

namespace iwarp::rdma_core {

struct RcQp;
struct UdQp;

class Core {
 public:
  /// What the rooms above add to a new Core, in this order.
  struct Parts {
    std::function<std::vector<std::unique_ptr<Service>>(Core&)> services;
    std::function<std::unique_ptr<Hooks>(Core&)> hooks;  ///< null: nothing observes or intercepts
    std::string metrics;  ///< where the statistics are served; empty: nowhere
  };

  /// The Core of this process. Throws std::system_error when it cannot be made.
  static Core& get();
  /// The same, if it has been made.
  static Core* existing();
  /// Returns true once get() has tried to make one, whether or not it could.
  static bool was_tried();

  /// False in the child of a fork for what the parent made.
  bool alive() const;
  net::Rnic& rnic() { return *rnic_; }
  const TlsCarriers& carriers() const { return carriers_; }
  /// Connection events of all queue pairs; the dispatcher takes them.
  net::CmChannel& cm_channel() { return cm_channel_; }

  /// Null unless faults or checks are asked for.
  Hooks* hooks() const { return hooks_.get(); }
  /// The service of that type, of which assembly.cpp has made one.
  template <typename T>
  T& service() {
    for (const auto& service : services_) {
      if (auto* const found = dynamic_cast<T*>(service.get())) return *found;
    }
    std::terminate();
  }
  const std::vector<std::unique_ptr<Service>>& services() const { return services_; }
  /// Service::look_again() of all.
  void look_again() const {
    for (const auto& service : services_) service->look_again();
  }

  UntoldEnds& untold_ends() { return untold_ends_; }

  // Queue pairs by number, for events and for rdma_conn_param::qp_num.
  void add(verbs::QpNum num, RcQp& qp);
  void add(verbs::QpNum num, UdQp& qp);
  void remove_connection(verbs::QpNum num);
  void remove_datagrams(verbs::QpNum num);
  /// Calls `use` with the RcQp, which cannot be destroyed meanwhile. False: there is none.
  template <typename Function>
  bool with_qp(verbs::QpNum num, Function use) {
    const std::lock_guard lock(qps_mutex_);
    return use_of(connections_, num, use);
  }
  /// The same, or with the UdQp of that number.
  template <typename Function>
  bool with_any_qp(verbs::QpNum num, Function use) {
    const std::lock_guard lock(qps_mutex_);
    return use_of(connections_, num, use) || use_of(datagrams_, num, use);
  }

  /// The same, for what waits for the dispatcher meanwhile: nothing is dispatched.
  template <typename Function>
  void with_any_qp_undispatched(verbs::QpNum num, Function use) {
    const std::lock_guard still(dispatching_);
    (void)with_any_qp(num, use);
  }

  // Completion and shared receive queues by what the core calls them, for events.
  void add(const void* core_object, void* object);
  /// Events do not find it any more. Returns when none that was taken before is being dispatched.
  void remove(const void* core_object);
  /// As with_qp(), with what was added.
  template <typename Function>
  bool with_object(const void* core_object, Function use) {
    const std::lock_guard lock(objects_mutex_);
    const auto it = objects_.find(core_object);
    if (it == objects_.end()) return false;
    use(it->second);
    return true;
  }

  /// Returns when no event is being dispatched that was taken before: what it is about is gone, and
  /// its number or address may be used again.
  void await_dispatcher() { const std::lock_guard lock(dispatching_); }

  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

 private:
  template <typename Queue>
  using ByNumber = std::unordered_map<verbs::QpNum, Queue*>;

  template <typename Queue, typename Function>
  static bool use_of(const ByNumber<Queue>& qps, verbs::QpNum num, Function& use) {
    const auto it = qps.find(num);
    if (it == qps.end()) return false;
    use(*it->second);
    return true;
  }

  Core(TlsCarriers carriers, const Parts& parts);
  ~Core();
  /// Makes the Core with all that the library has; in assembly.cpp, above all rooms.
  static Core* make();
  /// Logs why not, and throws std::system_error, when there can be none.
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
  /// Before all others. Who holds it may await the dispatcher.
  std::recursive_mutex dispatching_;
  std::mutex qps_mutex_;  ///< before the locks of the CM and of event queues
  ByNumber<RcQp> connections_;
  ByNumber<UdQp> datagrams_;
  std::mutex objects_mutex_;  ///< before those of event queues
  std::unordered_map<const void*, void*> objects_;
  UntoldEnds untold_ends_;
  std::vector<std::unique_ptr<Service>> services_;
  std::unique_ptr<Hooks> hooks_;
};

}  // namespace iwarp::rdma_core
