// SPDX-License-Identifier: Apache-2.0
// PortEvents: the service that watches the network interfaces of the host through rtnetlink(7), and
// reports changes of a port to the contexts of its device: IBV_EVENT_PORT_ERR and
// IBV_EVENT_PORT_ACTIVE when Port::is_up() changes, IBV_EVENT_GID_CHANGE when the GID table
// changes.
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "device/device.hpp"
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
  /// Reports an event of the port or of the device to all contexts of `device`, or to all contexts
  /// if `device` is null.
  void tell(ibv_event_type type, const Device* device = nullptr);

 private:
  net::UniqueFd netlink_;
  /// The ports when the last changes were reported; only the dispatcher uses them.
  std::map<Device*, Port> last_;
  std::mutex mutex_;
  std::set<Context*> contexts_;
};

}  // namespace iwarp::rdma_core
