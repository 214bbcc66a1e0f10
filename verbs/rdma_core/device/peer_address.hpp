// SPDX-License-Identifier: Apache-2.0
// Which addresses the two ends of a queue pair have that is brought up without the CM: from what
// ibv_modify_qp() is told (GIDs, or a LID) to IP addresses, and these as text.
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
  unsigned interface = 0;  ///< where a link-local one counts
};

struct OobRoute {
  OobAddress own;
  OobAddress peer;
};

bool same_ip(const ibv_gid& a, const ibv_gid& b);
/// An order that both ends agree on.
bool precedes(const ibv_gid& a, const ibv_gid& b);
/// The interface counts where the address is link-local.
bool same_place(const OobAddress& a, const OobAddress& b);
/// Numeric, with the interface where that is needed.
std::string to_text(const OobAddress& address);
/// Of numeric text, with or without an interface; nullopt: it is none.
std::optional<ibv_gid> ip_of(const std::string& text);

/// Where `to` leads: the peer by its GID, or by its LID in our own /16; this end by the index of
/// its own GID. nullopt: nowhere, or from IPv4 to IPv6. With kLoopback peers on this host are at
/// 127.0.0.1, whichever of its addresses is named.
std::optional<OobRoute> route_of(const ibv_ah_attr& to, const Port& own, OutOfBandPeers peers);
bool is_on_this_host(const OobAddress& address, const Port& own);
/// Those that peers may name.
std::vector<OobAddress> addresses_of(const Port& own, OutOfBandPeers peers);

}  // namespace iwarp::rdma_core
