// SPDX-License-Identifier: Apache-2.0
// QpNumbers: takes the next free number of a port, and binds a new port on all addresses only when
// every number of the known ports is in use.
#include "bring_up/numbers.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "iwarp/verbs/errors.hpp"
#include "process/connection_options.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

// The maximum number of ports that are tried. Few tries are sufficient, because a port that is free
// on one address is rarely in use on another address.
constexpr std::size_t kTries = 64;

std::size_t counter_of(std::uint32_t number) { return number >> 16; }

std::expected<net::BoundSocket, std::error_code> bind_at(const OobAddress& at, std::uint16_t port,
                                                         net::PortRange range = {}) {
  return net::bind_tcp({.host = to_text(at), .port = port}, range);
}

/// Returns whether `error` means that this host does not have the address. The address may have
/// been removed, or it may be an IPv6 address that is not ready yet.
bool is_absent(const std::error_code& error) {
  return error == std::errc::address_not_available || error == verbs::Errc::kAddressInvalid;
}

}  // namespace

// [IBV-390]
std::uint32_t QpNumbers::take(const std::function<std::vector<OobAddress>()>& at) {
  const auto known = std::ranges::find_if(ports_, [](const Port& p) { return !p.taken.all(); });
  Port& port = known != ports_.end() ? *known : open(at());
  while (port.taken.test(port.next)) port.next = (port.next + 1) % kPerPort;
  const std::size_t index = port.next;
  port.next = (port.next + 1) % kPerPort;
  port.taken.set(index);
  return static_cast<std::uint32_t>(index) << 16 | port.number;
}

void QpNumbers::release(std::uint32_t number) {
  const auto it = std::ranges::find(ports_, port_of(number), &Port::number);
  if (it != ports_.end()) it->taken.reset(counter_of(number));
}

bool QpNumbers::is_taken(std::uint32_t number) const {
  const Port* const port = find(port_of(number));
  return port != nullptr && counter_of(number) < kPerPort && port->taken.test(counter_of(number));
}

const QpNumbers::Port* QpNumbers::find(std::uint16_t port) const {
  const auto it = std::ranges::find(ports_, port, &Port::number);
  return it != ports_.end() ? &*it : nullptr;
}

QpNumbers::Port& QpNumbers::open(const std::vector<OobAddress>& at) {
  std::error_code last = std::make_error_code(std::errc::address_not_available);
  // The sockets of earlier tries, which stay bound so that each try gets another port.
  std::vector<BoundAddress> used_elsewhere;
  for (std::size_t i = 0; i < kTries; ++i) {
    Port port;
    bool complete = true;
    for (const OobAddress& address : at) {
      auto bound =
          port.places.empty() ? bind_at(address, 0, port_range()) : bind_at(address, port.number);
      if (bound) {
        port.number = bound->local().port;
        port.places.push_back({.address = address, .bound = std::move(*bound), .listener = {}});
        continue;
      }
      last = bound.error();
      if (is_absent(last)) continue;
      if (port.places.empty() || last != verbs::Errc::kAddressInUse) throw std::system_error(last);
      complete = false;
      break;
    }
    if (port.places.empty()) break;
    if (complete) return ports_.emplace_back(std::move(port));
    used_elsewhere.push_back(std::move(port.places.front()));
  }
  if (is_absent(last)) {
    fail(
        refused(EADDRNOTAVAIL,
                "no network interface of the device is up and has an IP address (bring one up, for "
                "example with: ip link set lo up)"));
  }
  throw std::system_error(last);
}

std::error_code QpNumbers::listen(std::uint32_t number, const OobAddress& at,
                                  const Listen& listen) {
  const auto port = std::ranges::find(ports_, port_of(number), &Port::number);
  if (port == ports_.end()) return std::make_error_code(std::errc::invalid_argument);
  auto& places = port->places;
  auto place = std::ranges::find_if(
      places, [&at](const BoundAddress& p) { return same_place(p.address, at); });
  if (place != places.end() && place->listener != nullptr) return {};
  if (place == places.end()) {  // The host got this address after the port was bound.
    auto bound = bind_at(at, port->number);
    if (!bound) return bound.error();
    places.push_back({.address = at, .bound = std::move(*bound), .listener = {}});
    place = std::prev(places.end());
  }
  auto listener = listen(std::move(*place->bound));
  if (!listener) return listener.error();
  place->bound.reset();
  place->listener = std::move(*listener);
  return {};
}

}  // namespace iwarp::rdma_core
