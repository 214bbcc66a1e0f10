// SPDX-License-Identifier: Apache-2.0
// Looks up the addresses and interfaces of the host, and builds the GID table, the LID, the GUID
// and the speed of a port from them and from the profile.
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

using profiles::GidSource;

namespace {

// RXE_MAX_HDR_LENGTH: the total size in octets of all RoCE v2 headers in an Ethernet frame.
constexpr unsigned kRoceHeaders = 80;
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
  ibv_gid ip;
  std::string interface;
  unsigned index;
  bool loopback;
  std::size_t order;  ///< position in the list that the kernel returns
};

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

/// Returns an address as an IPv6 or IPv4-mapped IPv6 address, or nullopt if it is neither IPv4 nor
/// IPv6.
std::optional<ibv_gid> ip_of(const sockaddr& address) {
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
    const auto ip = ip_of(*entry->ifa_addr);
    if (!ip) continue;
    host.addresses.push_back({.ip = *ip,
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

bool lists(const Profile& profile, GidSource source) {
  return std::ranges::find(profile.gids, source, &profiles::GidRow::source) != profile.gids.end();
}

/// Returns the MAC address of the port's interface, or nullopt if it has none.
std::optional<Mac> mac_of(const Port& port, const Host& host) {
  const auto mac = host.macs.find(::if_nametoindex(port.interface.c_str()));
  return mac != host.macs.end() ? std::optional(mac->second) : std::nullopt;
}

/// Lists the GIDs of an RNIC: first the GID that contains the MAC address, then the GID of the
/// port's own address, then the GIDs of all other addresses.
void list_as_rnic(Port& port, const Profile& profile, const Host& host) {
  std::vector<Found> addresses = host.addresses;
  const auto own = std::find_if(addresses.begin(), addresses.end(), [&](const Found& found) {
    return found.interface == port.interface && is_mapped(found.ip);
  });
  if (own != addresses.end() && port.interface != kLoopback) {
    std::rotate(addresses.begin(), own, own + 1);
  }
  const ibv_gid ip = gid_with(kMapped, port.address);
  if (lists(profile, GidSource::kIpv4AsMac)) {
    port.gids.push_back({.gid = gid_with(kMacPrefix, port.address), .ip = ip});
  }
  if (lists(profile, GidSource::kMac)) {
    ibv_gid gid{};
    std::ranges::copy(mac_of(port, host).value_or(Mac{}), gid.raw);
    port.gids.push_back({.gid = gid, .ip = ip});
  }
  for (const Found& found : addresses) {
    if (!lists(profile, is_mapped(found.ip) ? GidSource::kIpv4 : GidSource::kIpv6)) continue;
    port.gids.push_back({.gid = found.ip, .ip = found.ip, .interface = found.index});
  }
}

/// Returns the default GID of an interface with this MAC address: its IPv6 link-local address.
ibv_gid default_gid(const Mac& mac) {
  ibv_gid out{.raw = {0xFE, 0x80}};
  std::ranges::copy(eui64(mac), out.raw + sizeof out.raw / 2);
  return out;
}

/// Lists the GIDs of one interface of a RoCE adapter. Each address has as many entries as the
/// profile has types for its source. The default GID that is no address of the interface stands for
/// the interface's first address, if the profile lists it at all.
void list_interface(Port& port, const Profile& profile, std::span<const Found> addresses,
                    const ibv_gid& of_mac) {
  const auto is_default = [&](const Found& found) { return same_ip(found.ip, of_mac); };
  const bool is_assigned = std::ranges::any_of(addresses, is_default);
  std::vector<GidSource> done;
  for (const auto& [source, first_type] : profile.gids) {
    if (std::ranges::find(done, source) != done.end()) continue;
    done.push_back(source);
    const auto add = [&](const ibv_gid& gid, const Found& found) {
      for (const auto& [other, type] : profile.gids) {
        if (other != source) continue;
        port.gids.push_back({.gid = gid, .ip = found.ip, .interface = found.index, .type = type});
      }
    };
    if (source == GidSource::kLinkLocal && !is_assigned) add(of_mac, addresses.front());
    for (const Found& found : addresses) {
      const bool is_first = is_default(found);
      const bool is_listed = source == GidSource::kIpv4   ? is_mapped(found.ip)
                             : source == GidSource::kIpv6 ? !is_mapped(found.ip) && !is_first
                                                          : is_first;
      if (is_listed) add(found.ip, found);
    }
  }
}

/// Lists the GIDs of a RoCE adapter. The port's own interface comes first, and loopback last.
void list_as_roce(Port& port, const Profile& profile, const Host& host) {
  std::vector<Found> addresses = host.addresses;
  // IPv4 comes first, because a default GID that is no address stands for the first address.
  std::ranges::sort(addresses, {}, [&](const Found& found) {
    const bool elsewhere = found.interface != port.interface;
    return std::tuple(elsewhere, found.loopback, found.index, !is_mapped(found.ip), found.order);
  });
  for (auto at = addresses.begin(); at != addresses.end();) {
    const auto end = std::find_if(at, addresses.end(),
                                  [&](const Found& found) { return found.index != at->index; });
    const auto mac = host.macs.find(at->index);
    list_interface(port, profile, {at, end},
                   default_gid(mac != host.macs.end() ? mac->second : Mac{}));
    at = end;
  }
}

/// Returns the GUID of the port. The devices of one interface differ in the fourth octet.
std::uint64_t guid_of(const Port& port, const Profile& profile, const Host& host, unsigned twin) {
  Eui64 octets{};
  const auto mac = mac_of(port, host);
  if (mac && !lists(profile, GidSource::kIpv4AsMac)) {
    octets = eui64(*mac);
  } else {
    std::copy_n(gid_with(kMacPrefix, port.address).raw, octets.size(), octets.begin());
  }
  // The fourth octet is the same for all MAC addresses.
  octets[3] = static_cast<std::uint8_t>(octets[3] - twin);
  std::uint64_t out = 0;
  std::memcpy(&out, octets.data(), sizeof out);
  return out;
}

/// Leaves only the addresses and interfaces of the device `where`: an interface or an IP address.
void restrict_to(Host& host, const std::string& where) {
  const auto own = [&](const Found& found) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool ipv4 = is_mapped(found.ip);
    ::inet_ntop(ipv4 ? AF_INET : AF_INET6, found.ip.raw + (ipv4 ? kMapped.size() : 0), text.data(),
                text.size());
    return found.interface == where || text.data() == where;
  };
  std::erase_if(host.addresses, [&](const Found& found) { return !own(found); });
  // An interface that has lost its addresses, or that does not exist (index 0), still carries the
  // port, which is then down.
  const auto& left = host.addresses;
  host.carriers = {left.empty() ? ::if_nametoindex(where.c_str()) : left.front().index};
}

}  // namespace

bool same_ip(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

bool PortGid::is_free() const { return same_ip(gid, ibv_gid{}); }

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

ibv_mtu active_mtu(const Port& port) {
  const unsigned headers = port.persona == Persona::kRoce ? kRoceHeaders : 0;
  const unsigned octets = port.mtu > headers ? port.mtu - headers : 0;
  if (octets >= 4096) return IBV_MTU_4096;
  if (octets >= 2048) return IBV_MTU_2048;
  if (octets >= 1024) return IBV_MTU_1024;
  return octets >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

Port look_at_port(const DeviceSpec& device) {
  Host host = look_at_host();
  const Persona persona = device.persona();
  if (!device.where.empty()) restrict_to(host, device.where);
  Port port;
  port.persona = persona;
  port.error = host.error;
  const auto own = std::ranges::find_if(
      host.addresses, [](const Found& found) { return is_mapped(found.ip) && !found.loopback; });
  const bool any = own != host.addresses.end();
  port.interface = any ? own->interface : kLoopback;
  port.address = any ? ipv4_of(kMapped, own->ip) : INADDR_LOOPBACK;
  const auto lid = device.profile->port.find("lid");
  if (lid != device.profile->port.end()) {
    port.lid = static_cast<std::uint16_t>(lid->second);
  } else if (persona == Persona::kIwarp) {
    port.lid = static_cast<std::uint16_t>(port.address & 0xFFFF);
  }
  if (!any && ::if_nametoindex(device.where.c_str()) != 0) port.interface = device.where;
  // With IWARP_AS=roce, the port needs no IPv4 address, whereas the first GID of an RNIC contains
  // one. The RoCE port omits loopback addresses if there are others. Programs choose among the GIDs
  // by rules of their own (IPv4 before IPv6, or private networks last), and must not choose
  // loopback.
  const auto first = std::ranges::find(host.addresses, false, &Found::loopback);
  if (persona == Persona::kRoce && first != host.addresses.end()) {
    if (!any) port.interface = first->interface;
    if (!device.list_loopback) {
      std::erase_if(host.addresses, [](const Found& found) { return found.loopback; });
    }
  }
  measure(port);
  port.guid = guid_of(port, *device.profile, host, device.twin);
  if (persona == Persona::kRoce) {
    list_as_roce(port, *device.profile, host);
  } else {
    list_as_rnic(port, *device.profile, host);
  }
  port.multicast = std::move(host.multicast);
  port.carriers = std::move(host.carriers);
  port.running = std::move(host.running);
  if (port.gids.size() > kMaxGids) port.gids.resize(kMaxGids);
  return port;
}

std::vector<std::string> interfaces_with_addresses() {
  std::vector<std::string> out;
  for (const Found& found : look_at_host().addresses) {
    const bool is_new = std::ranges::find(out, found.interface) == out.end();
    if (!found.loopback && is_new) out.push_back(found.interface);
  }
  if (out.empty()) out.emplace_back(kLoopback);
  return out;
}

// [IBV-592]
std::vector<unsigned> interfaces_of_groups(const Port& port, bool ipv4) {
  std::vector<unsigned> out;
  for (const PortGid& entry : port.gids) {
    const bool fits = is_mapped(entry.ip) == ipv4 &&
                      std::ranges::find(port.multicast, entry.interface) != port.multicast.end();
    if (fits && std::ranges::find(out, entry.interface) == out.end()) {
      out.push_back(entry.interface);
    }
  }
  if (out.empty()) out.push_back(port.gids.empty() ? 0 : port.gids.front().interface);
  return out;
}

std::optional<ibv_gid> address_of(const ibv_gid& gid, const Port& own) {
  const auto known = std::ranges::find_if(
      own.gids, [&](const PortGid& entry) { return !entry.is_free() && same_ip(entry.gid, gid); });
  if (known != own.gids.end()) return known->ip;
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
