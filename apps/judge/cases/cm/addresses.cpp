// SPDX-License-Identifier: Apache-2.0
// Cases about rdma_getaddrinfo(), and about resolving addresses and routes.
#include <netdb.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_addresses {
namespace {

// Networks for documentation (RFC 5737): no host has these addresses.
constexpr const char* kForeign = "192.0.2.77";
constexpr const char* kUnrouted = "203.0.113.9";

/// The name of a result of getaddrinfo(), with which rdma_getaddrinfo() fails.
std::string_view result_name(int result) {
  switch (result) {
    case 0:
      return "0";
    case EAI_NONAME:
      return "EAI_NONAME";
    case EAI_AGAIN:
      return "EAI_AGAIN";
    case EAI_FAMILY:
      return "EAI_FAMILY";
    case EAI_ADDRFAMILY:
      return "EAI_ADDRFAMILY";
    case EAI_SERVICE:
      return "EAI_SERVICE";
    default:
      return "another result";
  }
}

std::string_view look_up(const char* node, const char* service, const rdma_addrinfo& hints) {
  rdma_addrinfo* out = nullptr;
  return result_name(rdma_getaddrinfo(node, service, &hints, &out));
}

void nothing_to_look_up(Judge& j) {
  rdma_addrinfo* out = nullptr;
  const int result = rdma_getaddrinfo(nullptr, nullptr, nullptr, &out);
  j.expect_true("the result", result != 0, "not 0");
  j.expect_true("the list", out == nullptr, "unchanged");
}

void numeric(Judge& j) {
  rdma_addrinfo* out = nullptr;
  const std::string node = j.address();
  j.require("rdma_getaddrinfo", rdma_getaddrinfo(node.c_str(), "7471", nullptr, &out));
  j.expect_text("the destination", host_of(out->ai_dst_addr), {node});
  j.expect_equal("the port", ntohs(reinterpret_cast<sockaddr_in*>(out->ai_dst_addr)->sin_port),
                 7471);
  j.expect_equal("ai_dst_len", out->ai_dst_len, sizeof(sockaddr_in));
  j.expect_equal("ai_qp_type", static_cast<std::uint64_t>(out->ai_qp_type), IBV_QPT_RC);
  j.expect_equal("ai_port_space", static_cast<std::uint64_t>(out->ai_port_space), RDMA_PS_TCP);
  j.expect_true("ai_next of the last", out->ai_next == nullptr, "null");
  if (j.is_iwarp() || j.port_attributes().link_layer == IBV_LINK_LAYER_ETHERNET) {
    j.expect_equal("ai_route_len", out->ai_route_len, 0);
    j.expect_equal("ai_connect_len", out->ai_connect_len, 0);
  }
  rdma_freeaddrinfo(out);
}

void passive(Judge& j) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_UDP;
  rdma_addrinfo* out = nullptr;
  j.require("rdma_getaddrinfo", rdma_getaddrinfo(nullptr, "7471", &hints, &out));
  j.expect_true("the source", out->ai_src_addr != nullptr && out->ai_src_len != 0, "an address");
  j.expect_equal("ai_dst_len", out->ai_dst_len, 0);
  j.expect_equal("ai_qp_type", static_cast<std::uint64_t>(out->ai_qp_type), IBV_QPT_UD);
}

void from_hints(Judge& j) {
  Address here(j.address(), htons(1));
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_src_addr = hints.ai_dst_addr = here;
  hints.ai_src_len = hints.ai_dst_len = sizeof(sockaddr_in);
  rdma_addrinfo* out = nullptr;
  j.require("rdma_getaddrinfo", rdma_getaddrinfo(nullptr, nullptr, &hints, &out));
  for (const auto& [name, address] :
       {std::pair{"source", out->ai_src_addr}, std::pair{"destination", out->ai_dst_addr}}) {
    j.require_true(std::string(name) + " is set", address != nullptr, "set");
    j.expect_text(name, host_of(address), {j.address()});
    j.expect_true(std::string(name) + " is a copy", address != hints.ai_src_addr, "a copy");
  }
}

void refused_names(Judge& j) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NUMERICHOST;
  j.expect_text("RAI_NUMERICHOST, a name", look_up("localhost", "1", hints), {"EAI_NONAME"});
  hints.ai_flags = 0;
  j.expect_text("a name that does not exist", look_up("no-such-host.invalid", "1", hints),
                {"EAI_NONAME", "EAI_AGAIN"});
  j.expect_text("a service that does not exist", look_up("127.0.0.1", "no-such-service", hints),
                {"EAI_SERVICE", "EAI_NONAME"});
}

void families(Judge& j) {
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_FAMILY;
  hints.ai_family = AF_INET6;
  j.expect_text("an IPv4 address, AF_INET6", look_up("127.0.0.1", "1", hints),
                {"EAI_ADDRFAMILY", "EAI_NONAME"});
  hints.ai_family = 99;
  j.expect_text("family 99", look_up("127.0.0.1", "1", hints), {"EAI_FAMILY"});
  hints.ai_family = AF_INET;
  rdma_addrinfo* out = nullptr;
  j.require("rdma_getaddrinfo, AF_INET", rdma_getaddrinfo("localhost", "1", &hints, &out));
  j.expect_equal("family of the address", out->ai_dst_addr->sa_family, AF_INET);
}

void free_replaced(Judge& j) {
  rdma_addrinfo* out = nullptr;
  j.require("rdma_getaddrinfo", rdma_getaddrinfo(j.address().c_str(), "1", nullptr, &out));
  out->ai_src_addr = static_cast<sockaddr*>(std::calloc(1, sizeof(sockaddr_in)));
  rdma_freeaddrinfo(out);
  rdma_freeaddrinfo(nullptr);
  j.expect_true("the process lives", true, "no crash");
}

void resolves(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  Address to(j.address(), htons(kFreePort));
  j.require("rdma_resolve_addr", errno_of(rdma_resolve_addr(id, nullptr, to, 1000)));
  CmEvent event = expect_event(j, "after the address", channel, {RDMA_CM_EVENT_ADDR_RESOLVED});
  j.expect_true("the id of the event", event.id == id, "the id");
  j.expect("its status", event.status);
  j.require_true("id->verbs", id->verbs != nullptr, "set");
  j.expect_equal("id->port_num", id->port_num, j.port());
  j.expect_text("rdma_get_peer_addr", host_of(rdma_get_peer_addr(id)), {j.address()});
  j.expect_equal("rdma_get_dst_port", ntohs(rdma_get_dst_port(id)), kFreePort);
  j.expect_text("rdma_get_local_addr", host_of(rdma_get_local_addr(id)), {j.address()});
  j.expect_true("rdma_get_src_port", rdma_get_src_port(id) != 0, "not 0");
  j.require("rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  event = expect_event(j, "after the route", channel, {RDMA_CM_EVENT_ROUTE_RESOLVED});
  j.expect("its status", event.status);
}

void routed_source(Judge& j) {
  rdma_cm_id* const id = new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)));
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  Address to(j.address(), htons(kFreePort));
  must(j, "connect", errno_of(::connect(socket, to, sizeof(sockaddr_in))));
  Address own("0.0.0.0");
  socklen_t size = sizeof(sockaddr_in);
  must(j, "getsockname", errno_of(::getsockname(socket, own, &size)));
  j.expect_text("rdma_get_local_addr", host_of(rdma_get_local_addr(id)), {host_of(own)});
}

void unrouted(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  Address to(kUnrouted, htons(kFreePort));
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (::connect(socket, to, sizeof(sockaddr_in)) == 0) {
    j.not_applicable("this host has a default route");
  }
  j.require("rdma_resolve_addr", errno_of(rdma_resolve_addr(id, nullptr, to, 100)));
  const CmEvent event = expect_event(j, "event", channel, {RDMA_CM_EVENT_ADDR_ERROR});
  j.expect("its status", -event.status, {ENETUNREACH, EHOSTUNREACH});
  Address reachable(j.address(), htons(kFreePort));
  j.expect("rdma_resolve_addr again", errno_of(rdma_resolve_addr(id, nullptr, reachable, 1000)));
  expect_event(j, "event for the second address", channel, {RDMA_CM_EVENT_ADDR_RESOLVED});
}

void refused_addresses(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  Address to(j.address(), htons(kFreePort));
  Address foreign(kForeign);
  j.expect("without a destination", errno_of(rdma_resolve_addr(id, nullptr, nullptr, 100)),
           {EINVAL});
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  auto* const other = reinterpret_cast<sockaddr*>(&local);
  j.expect("AF_UNIX", errno_of(rdma_resolve_addr(id, nullptr, other, 100)), {EINVAL});
  j.expect("source address of another host", errno_of(rdma_resolve_addr(id, foreign, to, 100)),
           {EADDRNOTAVAIL});
  expect_no_event(j, "events of the failed calls", channel);
}

void mixed_families(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  Address from(j.address());
  Address to("::1", htons(kFreePort));
  j.expect("rdma_resolve_addr", errno_of(rdma_resolve_addr(new_id(j, channel), from, to, 100)),
           {EINVAL});
  expect_no_event(j, "events of the failed call", channel);
}

void resolved_twice(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  Address to(j.address(), htons(kFreePort));
  rdma_cm_id* const id = new_client(j, channel, to, RDMA_PS_TCP, false);
  j.expect("rdma_resolve_addr again", errno_of(rdma_resolve_addr(id, nullptr, to, 100)), {EINVAL});
  j.expect("rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  expect_event(j, "event", channel, {RDMA_CM_EVENT_ROUTE_RESOLVED});
  j.expect("rdma_resolve_route again", errno_of(rdma_resolve_route(id, 1000)), {EINVAL});
}

void route_too_early(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_id(j, channel);
  j.expect("on an idle id", errno_of(rdma_resolve_route(id, 100)), {EINVAL});
  Address at(j.address());
  must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, at)));
  j.expect("on a bound id", errno_of(rdma_resolve_route(id, 100)), {EINVAL});
  must(j, "rdma_listen", errno_of(rdma_listen(id, 1)));
  j.expect("on a listening id", errno_of(rdma_resolve_route(id, 100)), {EINVAL});
  expect_no_event(j, "events of the failed calls", channel);
}

template <bool IsBoundBefore>
void chosen_source(Judge& j) {
  Ids ids(j);
  rdma_cm_id* const id = new_id(j, ids.at_client);
  Address from(j.address());
  if (IsBoundBefore) {
    must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(id, from)));
  } else {
    rdma_cm_id* const probe = new_id(j, ids.at_client);
    must(j, "rdma_bind_addr", errno_of(rdma_bind_addr(probe, from)));
    from = Address(j.address(), rdma_get_src_port(probe));
    rdma_destroy_id(probe);
  }
  const auto port =
      IsBoundBefore ? rdma_get_src_port(id) : reinterpret_cast<sockaddr_in&>(from.storage).sin_port;
  sockaddr* const source = IsBoundBefore ? nullptr : static_cast<sockaddr*>(from);
  j.require("rdma_resolve_addr", errno_of(rdma_resolve_addr(id, source, ids.address, 1000)));
  await(j, ids.at_client, RDMA_CM_EVENT_ADDR_RESOLVED);
  j.expect_true("rdma_get_src_port", rdma_get_src_port(id) == port, "the chosen port");
  must(j, "rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  await(j, ids.at_client, RDMA_CM_EVENT_ROUTE_RESOLVED);
  create_qp(j, id);
  ids.client = id;
  ids.request();
  j.expect_true("rdma_get_dst_port at the server", rdma_get_dst_port(ids.server) == port,
                "the chosen port");
  j.expect_text("rdma_get_peer_addr at the server", host_of(rdma_get_peer_addr(ids.server)),
                {j.address()});
}

void wildcard_destination(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const listener = new_listener(j, channel, Address("0.0.0.0"));
  rdma_cm_id* const id =
      new_client(j, new_channel(j), Address("0.0.0.0", rdma_get_src_port(listener)));
  create_qp(j, id);
  j.require("rdma_connect", errno_of(rdma_connect(id, nullptr)));
  expect_event(j, "event at the listener", channel, {RDMA_CM_EVENT_CONNECT_REQUEST});
}

void mapped(Judge& j) {
  Ids ids(j);
  rdma_cm_id* const id = new_id(j, ids.at_client);
  Address to("::ffff:" + j.address(), rdma_get_src_port(ids.listener));
  must(j, "rdma_resolve_addr", errno_of(rdma_resolve_addr(id, nullptr, to, 1000)));
  await(j, ids.at_client, RDMA_CM_EVENT_ADDR_RESOLVED);
  must(j, "rdma_resolve_route", errno_of(rdma_resolve_route(id, 1000)));
  await(j, ids.at_client, RDMA_CM_EVENT_ROUTE_RESOLVED);
  create_qp(j, id);
  j.expect("rdma_connect", errno_of(rdma_connect(id, nullptr)));
  expect_event(j, "event at the listener", ids.at_server, {RDMA_CM_EVENT_CONNECT_REQUEST});
}

bool is_in_table(Judge& j, const ibv_gid& wanted) {
  for (int i = 0; i < j.port_attributes().gid_tbl_len; ++i) {
    ibv_gid gid{};
    if (ibv_query_gid(j.context(), j.port(), i, &gid) != 0) continue;
    if (std::memcmp(&gid, &wanted, sizeof gid) == 0) return true;
  }
  return false;
}

// Both ends are at the same address.
void path(Judge& j) {
  const rdma_cm_id* const id =
      new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)));
  const ibv_gid own = id->route.addr.addr.ibaddr.sgid;
  const auto is_own = [&own](const ibv_gid& gid) {
    return std::memcmp(&gid, &own, sizeof gid) == 0;
  };
  j.expect_true("GID of the source", is_in_table(j, own), "in the table of the port");
  j.expect_true("GID of the destination", is_own(id->route.addr.addr.ibaddr.dgid), "the same");
  j.require_true("num_paths", id->route.num_paths == 1 && id->route.path_rec != nullptr, "1");
  const ibv_sa_path_rec& found = *id->route.path_rec;
  j.expect_true("sgid of the path", is_own(found.sgid), "that of the source");
  j.expect_true("dgid of the path", is_own(found.dgid), "that of the destination");
  __be16 pkey = 0;
  j.require("ibv_query_pkey", ibv_query_pkey(j.context(), j.port(), 0, &pkey));
  j.expect_equal("P_Key of the path", found.pkey, pkey);
  j.expect_equal("MTU of the path", found.mtu, j.port_attributes().active_mtu);
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/addrinfo/nothing", "RCM-49", "refuses rdma_getaddrinfo() without node, service and hints", nothing_to_look_up, kCm},
    {"cm/addrinfo/numeric", "RCM-50 RCM-60 RCM-61 RCM-62 RCM-63", "converts a numeric address with rdma_getaddrinfo()", numeric, kCm},
    {"cm/addrinfo/passive", "RCM-51 RCM-61", "returns a source address for RAI_PASSIVE", passive, kCm},
    {"cm/addrinfo/hints", "RCM-52", "returns copies of the addresses in the hints of rdma_getaddrinfo()", from_hints, kCm},
    {"cm/addrinfo/refused", "RCM-53 RCM-56 RCM-57", "fails rdma_getaddrinfo() of a host or a service that does not exist", refused_names, kCm},
    {"cm/addrinfo/family", "RCM-54 RCM-55", "looks up only addresses of ai_family with RAI_FAMILY", families, kCm},
    {"cm/addrinfo/free", "RCM-65 RCM-66", "frees a result whose ai_src_addr the program has replaced", free_replaced, kCm},
    {"cm/resolve/address", "RCM-45 RCM-46 RCM-70 RCM-71 RCM-76 RCM-83 RCM-85 RCM-87", "resolves an address and a route", resolves, kCm},
    {"cm/resolve/source", "RCM-72", "chooses the source address that the routing table names", routed_source, kCm},
    {"cm/resolve/unrouted", "RCM-75 RCM-80", "reports ADDR_ERROR for a destination without a route", unrouted, kCm},
    {"cm/resolve/refused", "RCM-77 RCM-78 RCM-3", "refuses invalid addresses in rdma_resolve_addr(), without an event", refused_addresses, kCm},
    {"cm/resolve/families", "RCM-81 RCM-3", "refuses a source and a destination of different address families", mixed_families, kCm},
    {"cm/resolve/twice", "RCM-79 RCM-89", "refuses to resolve an address or a route twice", resolved_twice, kCm},
    {"cm/resolve/route-too-early", "RCM-88 RCM-3", "refuses rdma_resolve_route() before the address is resolved", route_too_early, kCm},
    {"cm/resolve/bound", "RCM-74 RCM-102", "connects from the port to which the rdma_cm_id is bound", chosen_source<true>, kCm},
    {"cm/resolve/from", "RCM-73", "connects from the source address of rdma_resolve_addr()", chosen_source<false>, kCm},
    {"cm/resolve/wildcard", "RCM-82", "resolves the destination 0.0.0.0 to this host", wildcard_destination, kCm},
    {"cm/resolve/path", "RCM-90 RCM-92", "returns the GIDs and the path record of a route", path, kCm | kByHand},
    {"cm/resolve/mapped", "RCM-84", "treats IPv4-mapped addresses as IPv4", mapped, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_addresses

iwarp::judge::Table iwarp::judge::cm_addresses_cases() { return cm_addresses::kCases; }
