// SPDX-License-Identifier: Apache-2.0
// The IP addresses of the two ends of a connection that is made without the CM. The functions in
// this header convert the GIDs or the LID that a program passes to ibv_modify_qp() to IP addresses.
// They also convert IP addresses to and from text.
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <string>
#include <vector>

#include "device/port.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

struct OobAddress {
  ibv_gid ip{};            ///< the IP address, as an IPv6 or IPv4-mapped IPv6 address
  unsigned interface = 0;  ///< index of the network interface; used only if `ip` is link-local
};

struct OobRoute {
  OobAddress own;
  OobAddress peer;
};

/// Returns whether `a` is before `b` in an order that both ends of a connection use.
bool precedes(const ibv_gid& a, const ibv_gid& b);
/// Returns whether `a` and `b` are the same address. Compares the interfaces only if the address is
/// link-local.
bool same_place(const OobAddress& a, const OobAddress& b);
/// Returns the address as numeric text. Appends the interface if the address is link-local.
std::string to_text(const OobAddress& address);
/// Parses a numeric address, with or without an interface. Returns nullopt if `text` is not a
/// numeric address.
std::optional<ibv_gid> ip_of(const std::string& text);

/// Returns the addresses of both ends. If `to` contains the peer's GID, the peer's address is the
/// one that the GID represents. If `to` has only a LID, the peer's address is in the same /16
/// network as this port, and its low 16 bits are the LID. The address of this end is the one that
/// the GID at the source index in `to` represents. Returns nullopt if `to` contains no address, or
/// if one end has an IPv4 address and the other an IPv6 address. With OutOfBandPeers::kLoopback,
/// 127.0.0.1 replaces every address of this host.
std::optional<OobRoute> route_of(const ibv_ah_attr& to, const Port& own, OutOfBandPeers peers);
/// Logs with refused() that the GID table has no entry `index`, and returns EINVAL. `name` is the
/// name of the attribute that contains the index.
int refuse_gid_index(const std::string& name, int index, const Port& own);
/// Logs with refused() why route_of() returns nullopt for `to`, and returns EINVAL. `where` is put
/// in front of the name of the attribute.
int refuse_route(const ibv_ah_attr& to, const Port& own, const char* where);
bool is_on_this_host(const OobAddress& address, const Port& own);
/// Returns the addresses of this host to which peers may connect.
std::vector<OobAddress> addresses_of(const Port& own, OutOfBandPeers peers);

}  // namespace iwarp::rdma_core
