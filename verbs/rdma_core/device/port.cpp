// SPDX-License-Identifier: Apache-2.0
#include "device/port.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <tuple>

namespace iwarp::rdma_core {
namespace {

constexpr unsigned kLoopbackMtu = 65536;
// Speed that is assumed if the real one is unknown, as in the kernel.
constexpr unsigned kUnknownMbit = 1000;
constexpr std::size_t kMacSize = 6;
// Prefix of a locally administered MAC address, whose other four octets are the IPv4 address.
constexpr std::array<std::uint8_t, 2> kMacPrefix{0x02, 0x00};
constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

using Mac = std::array<std::uint8_t, kMacSize>;
using Eui64 = std::array<std::uint8_t, 8>;

/// An address of a network interface that is up.
struct Found {
  ibv_gid gid;
  std::string interface;
  unsigned index;
  bool loopback;
  std::size_t order;  ///< position in the list that the kernel returns
};

/// The addresses and interfaces of this host.
struct Host {
  std::vector<Found> addresses;
  /// The MAC addresses, by the indices of their interfaces. An interface without a MAC address has
  /// no entry.
  std::map<unsigned, Mac> macs;
  std::vector<unsigned> multicast;
  std::vector<unsigned> carriers;  ///< see Port::carriers
  std::vector<unsigned> running;   ///< see Port::running
  int error = 0;                   ///< errno of getifaddrs(3), or 0
};

/// Returns a GID that consists of the prefix, the IPv4 address, and zeros.
ibv_gid gid_with(std::span<const std::uint8_t> prefix, std::uint32_t address) {
  ibv_gid out{};
  std::ranges::copy(prefix, out.raw);
  const std::uint32_t wire = htonl(address);
  std::memcpy(out.raw + prefix.size(), &wire, sizeof wire);
  return out;
}

/// Returns the IPv4 address of a GID that gid_with() has returned for this prefix.
std::uint32_t ipv4_of(std::span<const std::uint8_t> prefix, const ibv_gid& gid) {
  std::uint32_t wire = 0;
  std::memcpy(&wire, gid.raw + prefix.size(), sizeof wire);
  return ntohl(wire);
}

/// Returns the modified EUI-64 of a MAC address (RFC 4291 appendix A).
Eui64 eui64(const Mac& mac) {
  constexpr std::uint8_t kUniversal = 0x02;
  const auto first = static_cast<std::uint8_t>(mac[0] ^ kUniversal);
  return {first, mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
}

/// Returns the GID of an address, or nullopt if the address is neither IPv4 nor IPv6.
std::optional<ibv_gid> gid_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return gid_with(kMapped, ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in6{};
  std::memcpy(&in6, &address, sizeof in6);
  ibv_gid out{};
  std::memcpy(out.raw, &in6.sin6_addr, sizeof out.raw);
  return out;
}

bool is_mapped(const ibv_gid& gid) {
  return std::equal(kMapped.begin(), kMapped.end(), std::begin(gid.raw));
}

void note_link(Host& host, const ifaddrs& entry, unsigned index) {
  // IFF_LOWER_UP of <linux/if.h>, which <net/if.h> lacks. The kernel sets it as soon as there is a
  // carrier, and IFF_RUNNING up to a second later.
  constexpr unsigned kLowerUp = 1U << 16;
  constexpr unsigned kRunning = IFF_UP | kLowerUp;
  const bool is_packet = entry.ifa_addr->sa_family == AF_PACKET;
  if (is_packet && (entry.ifa_flags & kRunning) == kRunning) host.running.push_back(index);
  if (!is_packet && (entry.ifa_flags & IFF_LOOPBACK) == 0) host.carriers.push_back(index);
}

void note_mac(Host& host, const sockaddr& address) {
  sockaddr_ll link{};
  std::memcpy(&link, &address, sizeof link);
  Mac mac{};
  std::copy_n(link.sll_addr, mac.size(), mac.begin());
  const bool is_one = link.sll_halen == kMacSize && mac != Mac{};
  if (is_one) host.macs[static_cast<unsigned>(link.sll_ifindex)] = mac;
}

Host look_at_host() {
  ifaddrs* all = nullptr;
  Host host;
  if (::getifaddrs(&all) != 0) {
    host.error = errno;
    all = nullptr;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const unsigned index = ::if_nametoindex(entry->ifa_name);
    note_link(host, *entry, index);
    if ((entry->ifa_flags & IFF_UP) == 0) continue;
    if (entry->ifa_addr->sa_family == AF_PACKET) note_mac(host, *entry->ifa_addr);
    const auto gid = gid_of(*entry->ifa_addr);
    if (!gid) continue;
    host.addresses.push_back({.gid = *gid,
                              .interface = entry->ifa_name,
                              .index = index,
                              .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0,
                              .order = host.addresses.size()});
    if ((entry->ifa_flags & IFF_MULTICAST) != 0) {
      host.multicast.push_back(index);
    }
  }
  return host;
}

void measure(Port& port) {
  port.mtu = kLoopbackMtu;
  port.mbit = kUnknownMbit;
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  ifreq request{};
  std::strncpy(request.ifr_name, port.interface.c_str(), IFNAMSIZ - 1);
  if (::ioctl(fd, SIOCGIFMTU, &request) == 0) port.mtu = static_cast<unsigned>(request.ifr_mtu);
  ethtool_cmd link{};
  link.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&link);
  if (::ioctl(fd, SIOCETHTOOL, &request) == 0) {
    const std::uint32_t speed = ethtool_cmd_speed(&link);
    if (speed != static_cast<std::uint32_t>(SPEED_UNKNOWN)) port.mbit = speed;
  }
  ::close(fd);
}

/// Lists the GIDs of an RNIC: first the GID that contains the MAC address, then the GID of the
/// port's own address, then the GIDs of all other addresses.
void list_as_rnic(Port& port, std::vector<Found> addresses) {
  const auto own = std::find_if(addresses.begin(), addresses.end(), [&](const Found& found) {
    return found.interface == port.interface && is_mapped(found.gid);
  });
  if (own != addresses.end() && port.interface != kLoopback) {
    std::rotate(addresses.begin(), own, own + 1);
  }
  port.gids.push_back(gid_with(kMacPrefix, port.address));
  port.interfaces.push_back(0);
  for (const Found& found : addresses) {
    port.gids.push_back(found.gid);
    port.interfaces.push_back(found.index);
  }
}

/// Lists the GIDs as the kernel does for a RoCE device. The port's own interface comes first, and
/// loopback last. For each interface, the list has the default GID, which is derived from the MAC
/// address, then the IPv4 addresses, and then the IPv6 addresses. Omits a default GID that is not
/// an address of its interface, because no TCP connection to it is possible.
void list_as_roce(Port& port, const Host& host) {
  const auto is_default = [&](const Found& found) {
    const auto mac = host.macs.find(found.index);
    if (mac == host.macs.end()) return false;
    ibv_gid gid{.raw = {0xFE, 0x80}};
    std::ranges::copy(eui64(mac->second), gid.raw + sizeof gid.raw / 2);
    return std::memcmp(gid.raw, found.gid.raw, sizeof gid.raw) == 0;
  };
  const auto place = [&](const Found& found) {
    const bool elsewhere = found.interface != port.interface;
    const int kind = is_default(found) ? 0 : is_mapped(found.gid) ? 1 : 2;
    return std::tuple(elsewhere, found.loopback, found.index, kind, found.order);
  };
  std::vector<Found> addresses = host.addresses;
  std::ranges::sort(addresses, {}, place);
  for (const Found& found : addresses) {
    port.gids.push_back(found.gid);
    port.interfaces.push_back(found.index);
  }
}

std::uint64_t guid_of(const Port& port, const Host& host) {
  Eui64 octets{};
  const auto mac = host.macs.find(::if_nametoindex(port.interface.c_str()));
  if (port.persona == Persona::kRoce && mac != host.macs.end()) {
    octets = eui64(mac->second);
  } else {
    std::copy_n(gid_with(kMacPrefix, port.address).raw, octets.size(), octets.begin());
  }
  std::uint64_t out = 0;
  std::memcpy(&out, octets.data(), sizeof out);
  return out;
}

}  // namespace

bool Port::is_up() const {
  return carriers.empty() || std::ranges::any_of(carriers, [this](unsigned carrier) {
           return std::ranges::find(running, carrier) != running.end();
         });
}

const LinkSpeed& link_speed(unsigned mbit) {
  static constexpr std::array kSpeeds{LinkSpeed{1000, 1, 1},  LinkSpeed{10000, 1, 8},
                                      LinkSpeed{20000, 2, 2}, LinkSpeed{25000, 1, 32},
                                      LinkSpeed{40000, 2, 8}, LinkSpeed{UINT_MAX, 2, 32}};
  return *std::ranges::find_if(kSpeeds, [&](const LinkSpeed& row) { return mbit <= row.mbit; });
}

Port look_at_port(Persona persona, bool list_loopback) {
  Host host = look_at_host();
  Port port;
  port.persona = persona;
  port.error = host.error;
  const auto own = std::ranges::find_if(
      host.addresses, [](const Found& found) { return is_mapped(found.gid) && !found.loopback; });
  const bool any = own != host.addresses.end();
  port.interface = any ? own->interface : kLoopback;
  port.address = any ? ipv4_of(kMapped, own->gid) : INADDR_LOOPBACK;
  // With IWARP_AS=roce, the port needs no IPv4 address, whereas the first GID of an RNIC contains
  // one. The RoCE port omits loopback addresses if there are others. Programs choose among the GIDs
  // by rules of their own (IPv4 before IPv6, or private networks last), and must not choose
  // loopback.
  const auto first = std::ranges::find(host.addresses, false, &Found::loopback);
  if (persona == Persona::kRoce && first != host.addresses.end()) {
    if (!any) port.interface = first->interface;
    if (!list_loopback) {
      std::erase_if(host.addresses, [](const Found& found) { return found.loopback; });
    }
  }
  port.multicast = std::move(host.multicast);
  port.carriers = std::move(host.carriers);
  port.running = std::move(host.running);
  measure(port);
  port.guid = guid_of(port, host);
  if (persona == Persona::kRoce) {
    list_as_roce(port, host);
  } else {
    list_as_rnic(port, host.addresses);
  }
  if (port.gids.size() > kMaxGids) {
    port.gids.resize(kMaxGids);
    port.interfaces.resize(kMaxGids);
  }
  return port;
}

std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4) {
  std::vector<unsigned> out;
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const unsigned interface = port.interfaces[i];
    const bool fits = is_mapped(port.gids[i]) == ipv4 &&
                      std::ranges::find(port.multicast, interface) != port.multicast.end();
    if (fits && std::ranges::find(out, interface) == out.end()) out.push_back(interface);
  }
  if (out.empty()) out.push_back(port.interfaces.empty() ? 0 : port.interfaces.front());
  return out;
}

std::optional<ibv_gid> address_of(const ibv_gid& gid) {
  const std::span<const std::uint8_t> octets(gid.raw);
  const auto are_zero = [](auto some) {
    return std::ranges::all_of(some, [](auto octet) { return octet == 0; });
  };
  if (are_zero(octets)) return std::nullopt;
  const bool is_mac = std::ranges::equal(kMacPrefix, octets.first(kMacPrefix.size())) &&
                      are_zero(octets.subspan(kMacSize));
  return is_mac ? gid_with(kMapped, ipv4_of(kMacPrefix, gid)) : gid;
}

}  // namespace iwarp::rdma_core
