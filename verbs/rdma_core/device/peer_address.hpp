// SPDX-License-Identifier: Apache-2.0
// Addresses of the two ends of a queue pair that is brought up without the CM. The functions
// convert the GIDs or the LID that a program passes to ibv_modify_qp() to IP addresses, and IP
// addresses to and from text.
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <string>
#include <vector>

#include "device/port.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct OobAddress {
  ibv_gid ip{};            ///< IPv4 mapped into IPv6
  unsigned interface = 0;  ///< index of the interface; used only if `ip` is link-local
};

struct OobRoute {
  OobAddress own;
  OobAddress peer;
};

bool same_ip(const ibv_gid& a, const ibv_gid& b);
/// Returns whether `a` sorts before `b`. Both ends of a connection use this order.
bool precedes(const ibv_gid& a, const ibv_gid& b);
/// Returns whether both are the same address. Compares the interfaces only if the address is
/// link-local.
bool same_place(const OobAddress& a, const OobAddress& b);
/// Returns the address in numeric form. Adds the interface if the address is link-local.
std::string to_text(const OobAddress& address);
/// Parses a numeric address, with or without an interface. Returns nullopt if `text` is not a
/// numeric address.
std::optional<ibv_gid> ip_of(const std::string& text);

/// Returns the addresses of both ends. The peer's address is taken from its GID. If `to` has only a
/// LID, it is the address in this port's /16 network whose low 16 bits are the LID. The address of
/// this end is taken from the index of its GID. Returns nullopt if `to` names no address, or if one
/// end is IPv4 and the other IPv6. With OutOfBandPeers::kLoopback every address of this host
/// becomes 127.0.0.1.
std::optional<OobRoute> route_of(const ibv_ah_attr& to, const Port& own, OutOfBandPeers peers);
bool is_on_this_host(const OobAddress& address, const Port& own);
/// Returns the addresses of this host to which peers may connect.
std::vector<OobAddress> addresses_of(const Port& own, OutOfBandPeers peers);

}  // namespace iwarp::rdma_core
