// SPDX-License-Identifier: Apache-2.0
// PortEvents: subscribes to rtnetlink(7) and, after each notification, compares every port with its
// former state.
#include "objects/port_events.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "device/limits.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {
namespace {

net::UniqueFd watch_interfaces() {
  net::UniqueFd out(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  const bool is_bound =
      out && ::bind(out.get(), reinterpret_cast<sockaddr*>(&groups), sizeof groups) == 0;
  return is_bound ? std::move(out) : net::UniqueFd();
}

}  // namespace

// Subscribes before it looks at the ports, so that no change is missed.
PortEvents::PortEvents() : netlink_(watch_interfaces()) {
  for (Device* const device : devices()) last_.emplace(device, device->port());
}

// Does not parse the messages, which may also be lost (ENOBUFS), but compares each port with
// what it was before them. [IBV-114, IBV-608]
void PortEvents::check() {
  std::array<char, 8192> messages{};
  while (::recv(netlink_.get(), messages.data(), messages.size(), 0) > 0 || errno == ENOBUFS ||
         errno == EINTR) {
  }
  for (auto& [device, last] : last_) {
    Port now = device->port();
    if (now.error != 0) return;
    if (now.is_up() != last.is_up()) {
      tell(now.is_up() ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, device);
    }
    const auto gid = &PortGid::gid;
    if (!std::ranges::equal(now.gids, last.gids, same_ip, gid, gid)) {
      tell(IBV_EVENT_GID_CHANGE, device);
    }
    last = std::move(now);
  }
}

// [IBV-614]
void PortEvents::tell(ibv_event_type type, const Device* device) {
  const std::lock_guard lock(mutex_);
  for (Context* const context : contexts_) {
    if (device != nullptr && &context->device != device) continue;
    context->async.push({.element = {.port_num = kPortNumber}, .event_type = type});
  }
}

void PortEvents::opened(Context& context) {
  const std::lock_guard lock(mutex_);
  contexts_.insert(&context);
}

void PortEvents::closed(Context& context) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(&context);
}

}  // namespace iwarp::rdma_core
