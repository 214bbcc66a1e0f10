// SPDX-License-Identifier: Apache-2.0
// Binds an rdma_cm_id to an address, resolves addresses, and listens. An RDMA port is a TCP port
// (see cm/ports.hpp). So rdma_bind_addr() binds a TCP socket, and fails at once if the port is not
// available. rdma_resolve_addr() consults the routing table and sends nothing. It still reports its
// result in an event, because programs wait for that event.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cm/address.hpp"
#include "cm/datagrams.hpp"
#include "cm/ib_attr.hpp"
#include "cm/id.hpp"
#include "process/connection_options.hpp"
#include "process/refusal.hpp"
#include "process/used_ports.hpp"

namespace iwarp::rdma_core {
namespace {

// The maximum backlog, as in the kernel's CM. If the program passes a backlog of 0, this maximum
// applies, too.
constexpr int kMaxBacklog = 1024;

void queue_outcome(CmId& id, rdma_cm_event_type type, int status = 0) {
  const std::lock_guard lock(id.cm.mutex);
  queue_event(make_event(id, type, status));
}

/// Reserves a port for an id without one, so that the program can read the port before it connects,
/// as with the kernel. The system chooses the port; IWARP_PORT_RANGE is for ports to which peers
/// connect. If no port is free, the id gets its port when it connects.
/// [RCM-83]
void reserve_port(CmId& id) {
  if (is_datagram(id)) {
    (void)open_any(id);
    return;
  }
  auto bound = net::bind_tcp(to_net(id.source()));
  if (!bound) return;
  set_port(id.source(), id.cm.ports.program(bound->local().port));
  id.bound = std::move(*bound);
}

/// Sets the source address of the id. If the program passes the source address `from`, binds the id
/// to it, as rdma_bind_addr() does. Otherwise uses the source address that the routing table
/// selects for `to`. Returns 0 or an errno.
/// [RCM-72, RCM-73, RCM-74, RCM-77, RCM-102]
int choose_source(CmId& id, const sockaddr& from, const sockaddr& to) {
  const bool chosen = is_ip(&from) && (!is_any(from) || port_of(from) != 0);
  if (chosen && id.life.is(IdState::kIdle)) {
    if (const int code = bind_to(id, from)) return code;
  }
  const bool fixed = id.life.is(IdState::kBound) && !is_any(id.source());
  const auto source = find_source(to, fixed ? &id.source() : nullptr);
  if (!source) return source.error();
  const std::uint16_t port = id.bound || id.sidr != nullptr ? port_of(id.source()) : 0;
  id.abi.route.addr.src_storage = *source;
  set_port(id.source(), port);
  if (port == 0) reserve_port(id);
  return 0;
}

/// Returns the destination for the address `to`: the loopback address if `to` is a wildcard, and
/// otherwise `to` itself.
/// [RCM-82]
sockaddr_storage destination_of(const sockaddr& to) {
  sockaddr_storage out = copy_of(to);
  if (!is_any(to)) return out;
  if (to.sa_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(out).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    reinterpret_cast<sockaddr_in6&>(out).sin6_addr = in6addr_loopback;
  }
  return out;
}

/// Returns a copy of the address, or an address of family 0 if `address` is null. Converts an
/// IPv4-mapped IPv6 address to IPv4, because some programs pass an address that they got from
/// accept(2) on a dual-stack socket.
/// [RCM-84]
sockaddr_storage plain(const sockaddr* address) {
  return address != nullptr ? unmapped(copy_of(*address)) : sockaddr_storage{};
}

// [RCM-3, RCM-70, RCM-75, RCM-76, RCM-78, RCM-79, RCM-80, RCM-85]
int resolve(CmId& id, const sockaddr* program_from, const sockaddr* program_to) {
  const bool are_ip = is_ip(program_to) && (program_from == nullptr || is_ip(program_from));
  if (!are_ip) {
    return refused(EINVAL, "{} is not an IPv4 or IPv6 address",
                   is_ip(program_to) ? "src_addr" : "dst_addr");
  }
  const auto plain_from = plain(program_from);
  const auto plain_to = plain(program_to);
  const auto& from = reinterpret_cast<const sockaddr&>(plain_from);
  const auto& to = reinterpret_cast<const sockaddr&>(plain_to);
  if (program_from != nullptr && from.sa_family != to.sa_family) {  // [RCM-81]
    return refused(EINVAL, "src_addr and dst_addr are of different address families");
  }
  if (!id.life.allows(IdEvent::kResolveAddress)) {
    return refuse_in_state(
        id, "call rdma_resolve_addr() once, after rdma_create_id() or rdma_bind_addr()");
  }
  if (const int code = id.cm.ports.check(to)) return code;
  id.abi.route.addr.dst_storage = destination_of(to);
  if (const int code = choose_source(id, from, id.destination())) {
    // Fails at once if the program cannot use the source address. Other errors are reported to the
    // program in an event.
    if (code == EADDRINUSE || code == EADDRNOTAVAIL || code == EACCES) {
      return refused(code, "src_addr: {} (use an address of this host, and a free port)",
                     std::generic_category().message(code));
    }
    (void)refused(code, "no route to {}: {} (check the address and the output of `ip route get`)",
                  to_net(id.destination()).host, std::generic_category().message(code));
    queue_outcome(id, RDMA_CM_EVENT_ADDR_ERROR, -code);
    return wait_for_event(id);
  }
  use_device(id);
  (void)id.life.step(IdEvent::kResolveAddress);
  queue_outcome(id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return wait_for_event(id);
}

// [RCM-87, RCM-88, RCM-89]
int resolve_route(CmId& id) {
  if (!id.life.allows(IdEvent::kResolveRoute)) {
    return refuse_in_state(
        id, "call rdma_resolve_addr() and wait for RDMA_CM_EVENT_ADDR_RESOLVED first");
  }
  if (id.cm.persona == Persona::kRoce) show_path_as_ib(id);
  (void)id.life.step(IdEvent::kResolveRoute);
  queue_outcome(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return wait_for_event(id);
}

/// Returns whether another id with RDMA_OPTION_ID_REUSEADDR, which does not listen, is bound to the
/// address.
/// [RCM-310, RCM-312]
bool is_reused(const CmId& id, const sockaddr& address) {
  const std::lock_guard lock(id.cm.mutex);
  return std::ranges::any_of(id.cm.reusing, [&](CmId* other) {
    return other != &id && port_of(other->source()) == port_of(address) &&
           (is_any(address) || is_any(other->source()) || same_host(other->source(), address));
  });
}

std::expected<net::BoundSocket, std::error_code> bind_socket(const CmId& id,
                                                             const sockaddr& address,
                                                             const net::Address& at) {
  auto bound = id.cm.ports.bind(at, port_range());
  const bool reuses = !bound && id.reuses_address && is_reused(id, address);
  return reuses ? net::bind_reserved(at) : std::move(bound);
}

/// Returns the errno for `error`, with which the address `at` could not be bound.
/// [RCM-98, RCM-100, RCM-103]
int refuse_port(const std::error_code& error, const std::string& at) {
  const int code = to_errno(error);
  if (code != EADDRINUSE) {
    return refused(code,
                   "{}: {} (bind to an address that iwarp info --gids shows; a port below 1024 "
                   "requires root privileges)",
                   at, std::generic_category().message(code));
  }
  return refused(code,
                 "{} is in use: an RDMA port is a TCP port (choose another port; if this program "
                 "also uses the port for TCP, run both ends with --port-offset 1000)",
                 at);
}

/// Tells the presence library, if it is loaded, that an id is bound to this TCP port.
void note_used_port(std::uint16_t tcp_port) {
  static auto* const kNote =
      reinterpret_cast<UsedPortFunction*>(::dlsym(RTLD_DEFAULT, kUsedPortSymbol));
  if (kNote != nullptr) kNote(tcp_port);
}

// [RCM-105, RCM-109, RCM-110, RCM-113, RCM-114, RCM-311]
int listen(CmId& id, int backlog) {
  if (id.life.is(IdState::kIdle)) {
    // As in the kernel, an id that is not bound yet listens at the IPv4 wildcard address.
    const sockaddr_in any{.sin_family = AF_INET};
    if (const int code = bind_to(id, reinterpret_cast<const sockaddr&>(any))) return code;
  }
  if (!id.life.allows(IdEvent::kListen)) {
    return refuse_in_state(id, "call rdma_listen() once, after rdma_bind_addr()");
  }
  use_core(id);
  backlog = backlog > 0 ? std::min(backlog, kMaxBacklog) : kMaxBacklog;
  if (is_datagram(id)) return listen_datagrams(id, backlog);
  // As in the kernel, only an id that does not share its address can listen.
  const std::string at = id.cm.ports.describe(id.cm.ports.to_tcp(id.source()));
  if (id.reuses_address && is_reused(id, id.source())) {
    return refuse_port(std::make_error_code(std::errc::address_in_use), at);
  }
  auto options = listen_options();
  options.backlog = backlog;
  // The mutex is locked before the first request can arrive, and stays locked until the id is in
  // Cm::listening, because the dispatcher looks there for the id of a request.
  const std::lock_guard lock(id.cm.mutex);
  auto listener = id.core->rnic().listen(std::move(*id.bound), options, id.core->cm_channel());
  if (!listener) return refuse_port(listener.error(), at);
  id.bound.reset();
  id.listener = std::move(*listener);
  id.backlog = backlog;
  (void)id.life.step(IdEvent::kListen);
  id.cm.listening.push_back(&id);
  std::erase(id.cm.reusing, &id);
  log_connection("listening", "listens on " + at, {{"local", at}});
  return 0;
}

}  // namespace

void allow_reuse(CmId& id) {
  const std::lock_guard lock(id.cm.mutex);
  id.cm.reusing.push_back(&id);
}

// The socket of a bound id cannot change to IPv6 only, so another socket takes its place.
// [RCM-315]
int set_v6_only(CmId& id, bool on) {
  if (!id.life.is(IdState::kIdle) && !id.life.is(IdState::kBound)) return EINVAL;
  const bool changes = std::exchange(id.v6_only, on) != on;
  const bool is_any_v6 = id.source().sa_family == AF_INET6 && is_any(id.source());
  if (!changes || !id.bound || !is_any_v6) return 0;
  net::Address at = id.cm.ports.to_tcp(id.source());
  if (!on) at.host.clear();
  id.bound.reset();
  auto bound = bind_socket(id, id.source(), at);
  if (!bound) return refuse_port(bound.error(), id.cm.ports.describe(at));
  id.bound = std::move(*bound);
  return 0;
}

// [RCM-93, RCM-94, RCM-96, RCM-97, RCM-101, RCM-242]
int bind_to(CmId& id, const sockaddr& address) {
  if (!id.life.allows(IdEvent::kBind)) {
    return refuse_in_state(
        id, "call rdma_bind_addr() once, before rdma_resolve_addr() or rdma_listen()");
  }
  if (const int code = id.cm.ports.check(address)) return code;
  if (is_datagram(id)) return bind_datagrams(id, address);
  const bool any = is_any(address);
  net::Address at = id.cm.ports.to_tcp(address);
  // An empty host binds the socket to both IPv6 and IPv4.
  if (any && address.sa_family == AF_INET6 && !id.v6_only) at.host.clear();
  // Opens the device here and not only in rdma_listen(). Some programs (qperf) send the port to
  // their peer before they listen. Opening the device takes time, so a peer whose device is already
  // open could connect before this program listens, and be refused.
  if (any) Core::get();
  auto bound = bind_socket(id, address, at);
  if (!bound) return refuse_port(bound.error(), id.cm.ports.describe(at));
  note_used_port(bound->local().port);
  const sockaddr_storage local = id.cm.ports.from_tcp(bound->local());
  id.abi.route.addr.src_storage = any ? copy_of(address) : local;
  set_port(id.source(), port_of(reinterpret_cast<const sockaddr&>(local)));
  id.bound = std::move(*bound);
  (void)id.life.step(IdEvent::kBind);
  if (id.reuses_address) allow_reuse(id);
  // Sets id->verbs, unless the address is a loopback address or a wildcard. The kernel does the
  // same. If rdma_bind_addr() sets id->verbs, some programs (libfabric) conclude that the address
  // supports RDMA, and announce it to peers.
  if (!any && !is_loopback(address)) use_device(id);
  return 0;
}

extern "C" {

// [RCM-99]
int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  const CallSite here(__builtin_return_address(0), "rdma_bind_addr");
  return cm_result([&] {
    if (!is_ip(address)) {
      return refused(address == nullptr ? EINVAL : EAFNOSUPPORT,
                     "addr is not an IPv4 or IPv6 address");
    }
    CmId& self = CmId::of(id);
    const auto at = plain(address);
    // Fails for an IPv4-mapped IPv6 address if RDMA_OPTION_ID_AFONLY is set. The address would bind
    // the id to IPv4, which that option forbids.
    if (self.v6_only && address->sa_family != at.ss_family) {
      return refused(
          EADDRNOTAVAIL,
          "addr is an IPv4-mapped address, but RDMA_OPTION_ID_AFONLY is set (clear this option)");
    }
    return bind_to(self, reinterpret_cast<const sockaddr&>(at));
  });
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* from, sockaddr* to, int /*timeout_ms*/) {
  const CallSite here(__builtin_return_address(0), "rdma_resolve_addr");
  return cm_result([&] { return resolve(CmId::of(id), from, to); });
}

int rdma_resolve_route(rdma_cm_id* id, int /*timeout_ms*/) {
  const CallSite here(__builtin_return_address(0), "rdma_resolve_route");
  return cm_result([&] { return resolve_route(CmId::of(id)); });
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  const CallSite here(__builtin_return_address(0), "rdma_listen");
  return cm_result([&] { return listen(CmId::of(id), backlog); });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
