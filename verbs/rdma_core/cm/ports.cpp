// SPDX-License-Identifier: Apache-2.0
// PortMap: adds and subtracts the offset, and refuses a port of the program for which there is no
// TCP port.
#include "cm/ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cm/address.hpp"
#include "process/refusal.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint16_t kLastPort = UINT16_MAX;
// The lowest port to which a process without root privileges may bind.
constexpr std::uint16_t kFirstUnprivileged = 1024;
static_assert(kMaxPortOffset + kFirstUnprivileged == kLastPort);

}  // namespace

bool PortMap::has_tcp(std::uint16_t program) const { return program <= kLastPort - offset_; }

std::uint16_t PortMap::tcp(std::uint16_t program) const {
  if (program == 0) return 0;
  const int port = program + offset_;
  return static_cast<std::uint16_t>(port <= kLastPort ? port : port - kLastPort);
}

std::uint16_t PortMap::program(std::uint16_t tcp) const {
  if (tcp == 0) return 0;
  const int port = tcp - offset_;
  return static_cast<std::uint16_t>(port > 0 ? port : port + kLastPort);
}

int PortMap::check(const sockaddr& program) const {
  const auto port = port_of(program);
  if (has_tcp(port)) return 0;
  log_refusal(fmt::format(
      "port {} is out of range with IWARP_PORT_OFFSET={} (choose a smaller port or offset)", port,
      offset_));
  return EADDRNOTAVAIL;
}

// [RCM-104]
net::Address PortMap::to_tcp(const sockaddr& program) const {
  auto out = to_net(program);
  out.port = tcp(out.port);
  return out;
}

sockaddr_storage PortMap::from_tcp(const net::Address& tcp) const {
  return from_net({.host = tcp.host, .port = program(tcp.port)});
}

std::expected<net::BoundSocket, std::error_code> PortMap::bind(const net::Address& at,
                                                               net::PortRange range) const {
  if (at.port != 0 || is_plain()) return net::bind_tcp(at, range);
  if (range.last != 0) {
    range.first = std::max<std::uint16_t>(range.first, offset_ + 1);
    if (range.first <= range.last) return net::bind_tcp(at, range);
    log_refusal(
        fmt::format("no port of IWARP_PORT_RANGE is above IWARP_PORT_OFFSET={} (choose a higher "
                    "range or a smaller offset)",
                    offset_));
    return std::unexpected(std::make_error_code(std::errc::address_not_available));
  }
  const auto first = static_cast<std::uint16_t>(offset_ + kFirstUnprivileged);
  auto bound = net::bind_tcp(at);
  if (!bound || bound->local().port >= first) return bound;
  return net::bind_tcp(at, {.first = first, .last = kLastPort});
}

std::string PortMap::describe(const net::Address& tcp) const {
  if (is_plain()) return to_string(tcp);
  const net::Address shown{.host = tcp.host, .port = program(tcp.port)};
  return fmt::format("{} (TCP port {})", to_string(shown), tcp.port);
}

}  // namespace iwarp::rdma_core
