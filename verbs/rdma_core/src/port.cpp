// SPDX-License-Identifier: Apache-2.0
#include "port.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

namespace iwarp::rdma_core {
namespace {

constexpr unsigned kLoopbackMtu = 65536;
constexpr std::size_t kMacSize = 6;
// A locally administered MAC address that names the IPv4 address.
constexpr std::array<std::uint8_t, 2> kMacPrefix{0x02, 0x00};
constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

ibv_gid mapped(std::uint32_t address) {
  ibv_gid out{};
  std::copy(kMapped.begin(), kMapped.end(), out.raw);
  const std::uint32_t wire = htonl(address);
  std::memcpy(out.raw + kMapped.size(), &wire, sizeof wire);
  return out;
}

ibv_gid mac_of(std::uint32_t address) {
  ibv_gid out{};
  std::copy(kMacPrefix.begin(), kMacPrefix.end(), out.raw);
  const std::uint32_t wire = htonl(address);
  std::memcpy(out.raw + kMacPrefix.size(), &wire, sizeof wire);
  return out;
}

unsigned mtu_of(const char* interface) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return kLoopbackMtu;
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  const bool known = ::ioctl(fd, SIOCGIFMTU, &request) == 0;
  ::close(fd);
  return known ? static_cast<unsigned>(request.ifr_mtu) : kLoopbackMtu;
}

/// Where a plain address of `entry` goes in the table; nullopt: it is of another family.
std::optional<ibv_gid> gid_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return mapped(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in6{};
  std::memcpy(&in6, &address, sizeof in6);
  ibv_gid out{};
  std::memcpy(out.raw, &in6.sin6_addr, sizeof out.raw);
  return out;
}

std::uint32_t ipv4_of(const ibv_gid& gid) {
  std::uint32_t wire = 0;
  std::memcpy(&wire, gid.raw + kMapped.size(), sizeof wire);
  return ntohl(wire);
}

bool is_mapped(const ibv_gid& gid) {
  return std::equal(kMapped.begin(), kMapped.end(), std::begin(gid.raw));
}

}  // namespace

Port look_at_port() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) all = nullptr;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  Port port;
  std::vector<ibv_gid> addresses;
  const char* interface = nullptr;
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const auto gid = gid_of(*entry->ifa_addr);
    if (!gid) continue;
    addresses.push_back(*gid);
    if (interface != nullptr || !is_mapped(*gid) || (entry->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    interface = entry->ifa_name;
    port.address = ipv4_of(*gid);
    // The port's own address comes first.
    std::rotate(addresses.begin(), addresses.end() - 1, addresses.end());
  }
  if (interface == nullptr) port.address = INADDR_LOOPBACK;
  port.mtu = interface != nullptr ? mtu_of(interface) : kLoopbackMtu;
  port.gids.push_back(mac_of(port.address));
  if (addresses.size() > kMaxGids - 1) addresses.resize(kMaxGids - 1);
  port.gids.insert(port.gids.end(), addresses.begin(), addresses.end());
  return port;
}

std::optional<ibv_gid> address_of(const ibv_gid& gid) {
  const std::span<const std::uint8_t> octets(gid.raw);
  const bool is_mac =
      std::equal(kMacPrefix.begin(), kMacPrefix.end(), octets.begin()) &&
      std::all_of(octets.begin() + kMacSize, octets.end(), [](auto octet) { return octet == 0; });
  if (is_mac) {
    std::uint32_t wire = 0;
    std::memcpy(&wire, gid.raw + kMacPrefix.size(), sizeof wire);
    return mapped(ntohl(wire));
  }
  if (std::all_of(octets.begin(), octets.end(), [](auto octet) { return octet == 0; })) {
    return std::nullopt;
  }
  return gid;
}

}  // namespace iwarp::rdma_core
