// SPDX-License-Identifier: Apache-2.0
// Converts GIDs, LIDs and texts to addresses, and says why a route of the program is refused.
#include "device/peer_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "device/device.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::size_t kIpv4Octets = 12;
constexpr ibv_gid kLoopbackIp{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1}};

in6_addr v6_of(const ibv_gid& ip) {
  in6_addr out{};
  std::memcpy(&out, ip.raw, sizeof out);
  return out;
}

bool is_ipv4(const ibv_gid& ip) {
  const in6_addr v6 = v6_of(ip);
  return IN6_IS_ADDR_V4MAPPED(&v6);
}

/// Returns the address of the peer with this GID, which may be a GID of another device of this
/// host.
std::optional<ibv_gid> address_of_peer(const ibv_gid& gid, const Port& own) {
  auto out = address_of(gid, own);
  if (!out || !same_ip(*out, gid) || devices().size() == 1) return out;
  for (Device* const device : devices()) {
    const auto there = address_of(gid, device->port());
    if (there && !same_ip(*there, gid)) return there;
  }
  return out;
}

std::optional<ibv_gid> peer_ip(const ibv_ah_attr& to, const Port& own) {
  if (to.is_global != 0) return address_of_peer(to.grh.dgid, own);
  // The port of a RoCE device has no LID.
  if (own.lid == 0 || to.dlid == 0 || own.gids.empty() || own.gids.front().is_free())
    return std::nullopt;
  std::optional out = own.gids.front().ip;
  const std::uint16_t lid = htons(to.dlid);
  std::memcpy(out->raw + sizeof out->raw - sizeof lid, &lid, sizeof lid);
  return out;
}

}  // namespace

bool precedes(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) < 0;
}

bool same_place(const OobAddress& a, const OobAddress& b) {
  const in6_addr v6 = v6_of(a.ip);
  return same_ip(a.ip, b.ip) && (!IN6_IS_ADDR_LINKLOCAL(&v6) || a.interface == b.interface);
}

std::string to_text(const OobAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const in6_addr v6 = v6_of(address.ip);
  if (is_ipv4(address.ip)) {
    inet_ntop(AF_INET, address.ip.raw + kIpv4Octets, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, &v6, text.data(), text.size());
  }
  const std::string out = text.data();
  return IN6_IS_ADDR_LINKLOCAL(&v6) ? fmt::format("{}%{}", out, address.interface) : out;
}

std::optional<ibv_gid> ip_of(const std::string& text) {
  ibv_gid out = kLoopbackIp;
  if (inet_pton(AF_INET, text.c_str(), out.raw + kIpv4Octets) == 1) return out;
  const std::string plain = text.substr(0, text.find('%'));
  if (inet_pton(AF_INET6, plain.c_str(), out.raw) == 1) return out;
  return std::nullopt;
}

std::optional<OobRoute> route_of(const ibv_ah_attr& to, const Port& own, OutOfBandPeers peers) {
  const std::size_t index = to.is_global != 0 ? to.grh.sgid_index : 0;
  const auto peer = peer_ip(to, own);
  if (!peer || index >= own.gids.size() || own.gids[index].is_free()) return std::nullopt;
  const auto& [gid, mine, interface, type] = own.gids[index];
  const OobRoute out{.own = {mine, interface}, .peer = {*peer, interface}};
  if (peers == OutOfBandPeers::kLoopback && is_on_this_host(out.peer, own)) {
    return OobRoute{.own = {kLoopbackIp}, .peer = {kLoopbackIp}};
  }
  if (is_ipv4(*peer) != is_ipv4(mine)) return std::nullopt;
  return out;
}

int refuse_gid_index(const std::string& name, int index, const Port& own) {
  const auto entries = own.gids.size();
  return refused(EINVAL, "{} {}: the GID table has {} entr{} (iwarp info --gids shows {})", name,
                 index, entries, entries == 1 ? "y" : "ies", entries == 1 ? "it" : "them");
}

int refuse_route(const ibv_ah_attr& to, const Port& own, const char* where) {
  const auto index = to.grh.sgid_index;
  if (to.is_global == 0) {
    return refused(
        EINVAL,
        "{}is_global 0: {} (set is_global, grh.dgid and grh.sgid_index; ibv_rc_pingpong does so "
        "with -g 0)",
        where, own.lid == 0 ? "the port has no LID" : "dlid 0 is the LID of no port");
  }
  if (index >= own.gids.size()) {
    return refuse_gid_index(fmt::format("{}grh.sgid_index", where), index, own);
  }
  const PortGid& mine = own.gids[index];
  if (mine.is_free()) {
    return refused(EINVAL,
                   "{}grh.sgid_index {}: this entry of the GID table is empty (choose an entry "
                   "that iwarp info --gids shows)",
                   where, index);
  }
  const auto peer = address_of_peer(to.grh.dgid, own);
  if (!peer) {
    return refused(EINVAL,
                   "{}grh.dgid is zero (pass the GID that ibv_query_gid() returns at the peer)",
                   where);
  }
  return refused(EINVAL,
                 "{}grh.dgid {} and the GID at sgid_index {} ({}) have different IP versions "
                 "(choose another sgid_index from iwarp info --gids)",
                 where, to_text({*peer}), index, to_text({mine.ip, mine.interface}));
}

bool is_on_this_host(const OobAddress& address, const Port& own) {
  const auto has = [&](const Port& port) {
    return std::ranges::any_of(port.gids, [&](const PortGid& entry) {
      return !entry.is_free() && same_ip(entry.ip, address.ip);
    });
  };
  // A process with several devices may connect them to each other.
  return has(own) || (devices().size() > 1 && std::ranges::any_of(devices(), [&](Device* device) {
                        return has(device->port());
                      }));
}

std::vector<OobAddress> addresses_of(const Port& own, OutOfBandPeers peers) {
  if (peers == OutOfBandPeers::kLoopback) return {{kLoopbackIp}};
  std::vector<OobAddress> out;
  for (const PortGid& entry : own.gids) {
    if (entry.is_free()) continue;
    const OobAddress address{entry.ip, entry.interface};
    const auto same = [&](const OobAddress& known) { return same_place(known, address); };
    if (std::ranges::none_of(out, same)) out.push_back(address);
  }
  return out;
}

}  // namespace iwarp::rdma_core
