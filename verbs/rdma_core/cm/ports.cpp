// SPDX-License-Identifier: Apache-2.0
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
// Below, only root may bind the TCP port of the same number.
constexpr std::uint16_t kFirstUnprivileged = 1024;
static_assert(kMaxPortOffset + kFirstUnprivileged == kLastPort);

}  // namespace

bool has_tcp_port(std::uint16_t program_port, std::uint16_t offset) {
  return program_port <= kLastPort - offset;
}

std::uint16_t tcp_port(std::uint16_t program_port, std::uint16_t offset) {
  if (program_port == 0) return 0;
  const int port = program_port + offset;
  return static_cast<std::uint16_t>(port <= kLastPort ? port : port - kLastPort);
}

std::uint16_t program_port(std::uint16_t tcp_port, std::uint16_t offset) {
  if (tcp_port == 0) return 0;
  const int port = tcp_port - offset;
  return static_cast<std::uint16_t>(port > 0 ? port : port + kLastPort);
}

int check_port(const sockaddr& program_address) {
  const auto offset = settings().port_offset;
  const auto port = port_of(program_address);
  if (has_tcp_port(port, offset)) return 0;
  log_refusal(fmt::format("port {} with IWARP_PORT_OFFSET={} is no TCP port", port, offset));
  return EADDRNOTAVAIL;
}

net::Address to_tcp(const sockaddr& program_address) {
  auto out = to_net(program_address);
  out.port = tcp_port(out.port, settings().port_offset);
  return out;
}

sockaddr_storage from_tcp(const net::Address& address) {
  return from_net(
      {.host = address.host, .port = program_port(address.port, settings().port_offset)});
}

std::expected<net::BoundSocket, std::error_code> bind_above(std::uint16_t offset,
                                                            const net::Address& at,
                                                            net::PortRange range) {
  if (at.port != 0 || offset == 0) return net::bind_tcp(at, range);
  if (range.last != 0) {
    range.first = std::max<std::uint16_t>(range.first, offset + 1);
    if (range.first <= range.last) return net::bind_tcp(at, range);
    log_refusal(fmt::format("no port of IWARP_PORT_RANGE is above IWARP_PORT_OFFSET={}", offset));
    return std::unexpected(std::make_error_code(std::errc::address_not_available));
  }
  const auto first = static_cast<std::uint16_t>(offset + kFirstUnprivileged);
  auto bound = net::bind_tcp(at);
  if (!bound || bound->local().port >= first) return bound;
  return net::bind_tcp(at, {.first = first, .last = kLastPort});
}

std::string describe(const net::Address& tcp) {
  const auto offset = settings().port_offset;
  if (offset == 0) return to_string(tcp);
  const net::Address shown{.host = tcp.host, .port = program_port(tcp.port, offset)};
  return fmt::format("{} (TCP port {})", to_string(shown), tcp.port);
}

}  // namespace iwarp::rdma_core
