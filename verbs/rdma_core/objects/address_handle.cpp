// SPDX-License-Identifier: Apache-2.0
// Address handles. They exist only with IWARP_AS=roce; on an RNIC, ibv_create_ah() fails. The
// attributes are checked as in the kernel. Each handle contains the addresses of both ends of a
// datagram.

#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "device/limits.hpp"
#include "device/peer_address.hpp"
#include "device/port.hpp"
#include "objects/objects.hpp"
#include "process/call_site.hpp"
#include "process/errno_table.hpp"
#include "process/handles.hpp"
#include "process/refusal.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint8_t kHops = 64;
constexpr std::size_t kIpv4At = 20;  // offset of the IPv4 header in the 40 octets of a GRH
constexpr std::size_t kIpv4Size = 20;
constexpr std::uint8_t kPlainIpv4 = 0x45;

std::atomic<int>& handles() {
  static std::atomic<int> count{0};
  return count;
}

// [IBV-345]
int refuse_on_rnic(const char* what) {
  if (settings().persona == Persona::kRoce) return 0;
  return refused(what, "iWARP supports only connections (use --as roce for datagrams)");
}

/// Returns the path to the peer that `attr` names. Throws std::system_error with EINVAL if `attr`
/// has no global route: RoCE has no LIDs, so a peer can only be named by its GID. [IBV-94, IBV-116,
/// IBV-333, IBV-334, IBV-335, IBV-336, IBV-337]
verbs::DatagramPath path_of(const ibv_ah_attr& attr, Device& device) {
  if (attr.port_num != kPortNumber) {
    fail(refused(EINVAL, "port_num {}: must be 1 (the device has one port)", attr.port_num));
  }
  const Port own = device.port();
  const auto route = attr.is_global != 0 ? route_of(attr, own, OutOfBandPeers::kOn) : std::nullopt;
  if (!route) fail(refuse_route(attr, own, ""));
  return {.own = to_ip(route->own.ip),
          .peer = to_ip(route->peer.ip),
          .interface = route->own.interface,
          .hop_limit = attr.grh.hop_limit,
          .traffic_class = attr.grh.traffic_class};
}

struct Ends {
  ibv_gid own{};
  ibv_gid peer{};
  std::uint8_t traffic_class = 0;
};

std::uint16_t checksum(const std::uint8_t* header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Size; i += 2) {
    sum += static_cast<std::uint32_t>(header[i]) << 8 | header[i + 1];
  }
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Returns the addresses and the traffic class of a datagram from its GRH. If the last 20 octets of
/// the GRH are an IPv4 header with a valid checksum, takes them from that header.
Ends ends_of(const ibv_grh& grh) {
  std::uint8_t octets[sizeof grh];
  std::memcpy(octets, &grh, sizeof octets);
  const std::uint8_t* const ip = octets + kIpv4At;
  if (*ip != kPlainIpv4 || checksum(ip) != 0) {
    return {.own = grh.dgid,
            .peer = grh.sgid,
            .traffic_class = static_cast<std::uint8_t>(ntohl(grh.version_tclass_flow) >> 20)};
  }
  Ends out{.own = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}}};
  out.peer = out.own;
  out.traffic_class = ip[1];
  std::memcpy(out.peer.raw + 12, ip + 12, 4);
  std::memcpy(out.own.raw + 12, ip + 16, 4);
  return out;
}

// [IBV-340, IBV-343]
int attr_of(Device& device, std::uint8_t port, const ibv_wc& wc, const ibv_grh* grh,
            ibv_ah_attr& out) {
  if (port != kPortNumber || grh == nullptr || (wc.wc_flags & IBV_WC_GRH) == 0) return EINVAL;
  const Ends ends = ends_of(*grh);
  const Port own = device.port();
  const auto found = std::ranges::find_if(own.gids, [&](const PortGid& entry) {
    return same_ip(entry.ip, ends.own) && entry.type != GidType::kV1;
  });
  // Fails if the destination of the datagram is not an address of this host, for example if it is a
  // multicast group.
  if (found == own.gids.end()) return EINVAL;
  out = {};
  out.is_global = 1;
  out.port_num = port;
  out.grh.dgid = ends.peer;
  out.grh.sgid_index = static_cast<std::uint8_t>(found - own.gids.begin());
  out.grh.hop_limit = kHops;
  out.grh.traffic_class = ends.traffic_class;
  return 0;
}

}  // namespace

verbs::IpAddress to_ip(const ibv_gid& gid) {
  verbs::IpAddress out{};
  std::ranges::copy(gid.raw, out.begin());
  return out;
}

ibv_gid sender_of(const ibv_grh& grh) { return ends_of(grh).peer; }

extern "C" {

// [IBV-41, IBV-331]
ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  const CallSite here(__builtin_return_address(0), "ibv_create_ah");
  return guarded_pointer<ibv_ah>([&]() -> ibv_ah* {
    if (const int code = refuse_on_rnic("ibv_create_ah")) fail(code);
    Pd& domain = Pd::of(known(pd));
    auto ah = std::make_unique<Ah>();
    ah->path = path_of(*attr, domain.context.device);
    ah->abi.context = pd->context;
    ah->abi.pd = pd;
    ah->abi.handle = add_handle(&ah->abi, pd->context);
    const int most = domain.context.device.limits().max_ah;
    if (handles().fetch_add(1) >= most) {
      --handles();
      remove_handle(&ah->abi);
      fail(refused(
          ENOMEM, "the device already has {} address handles, its maximum (destroy unused handles)",
          most));
    }
    ++domain.users;
    return &ah.release()->abi;
  });
}

// [IBV-332]
int ibv_destroy_ah(ibv_ah* ah) {
  return guarded_call([&] {
    if (const int code = refuse_on_rnic("ibv_destroy_ah")) return code;
    Ah& self = Ah::of(known(ah));
    remove_handle(ah);
    --Pd::of(ah->pd).users;
    --handles();
    delete &self;
    return 0;
  });
}

// [IBV-341]
int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                        ibv_ah_attr* attr) {
  const int code = guarded([&] {
    if (const int refused_code = refuse_on_rnic("ibv_init_ah_from_wc")) return refused_code;
    return attr_of(Context::of(context).device, port, *wc, grh, *attr);
  });
  return code == 0 ? 0 : minus_one(code);
}

// [IBV-342]
ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  return guarded_pointer<ibv_ah>([&]() -> ibv_ah* {
    ibv_ah_attr attr{};
    if (ibv_init_ah_from_wc(known(pd)->context, port, wc, grh, &attr) != 0) return nullptr;
    return ibv_create_ah(pd, &attr);
  });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
