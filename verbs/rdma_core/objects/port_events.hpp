// SPDX-License-Identifier: Apache-2.0
// PortEvents: the service that watches the network interfaces of the host through rtnetlink(7), and
// reports changes of the port to all contexts: IBV_EVENT_PORT_ERR and IBV_EVENT_PORT_ACTIVE when
// Port::is_up() changes, IBV_EVENT_GID_CHANGE when the GID table changes.
#pragma once

#include <mutex>
#include <set>
#include <vector>

#include "device/port.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "process/service.hpp"

namespace iwarp::rdma_core {

struct Context;

class PortEvents final : public Service {
 public:
  /// If the system permits no netlink socket, no change is reported.
  PortEvents();

  int fd() const override { return netlink_.get(); }
  void check() override;

  // Any thread may call the next three functions.
  void opened(Context& context);
  void closed(Context& context);
  /// Reports an event of the port or of the device to all contexts.
  void tell(ibv_event_type type);

 private:
  net::UniqueFd netlink_;
  Port last_;  ///< the port when the last change was reported; only the dispatcher uses it
  std::mutex mutex_;
  std::set<Context*> contexts_;
};

}  // namespace iwarp::rdma_core
