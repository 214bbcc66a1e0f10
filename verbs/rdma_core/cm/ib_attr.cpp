// SPDX-License-Identifier: Apache-2.0
// The attributes for each transition to INIT, RTR and RTS, and the GIDs and the path that an id
// shows.
#include "cm/ib_attr.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>

#include "cm/address.hpp"
#include "cm/datagrams.hpp"
#include "objects/objects.hpp"
#include "qp/rc.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint8_t kHops = 64;
constexpr std::uint8_t kAckTimeout = 18;   // encodes 4.096 us * 2^18, which is about one second
constexpr std::uint8_t kMinRnrTimer = 12;  // encodes 0.64 ms
constexpr std::uint16_t kOnlyPkey = 0xFFFF;
// IB_SA_EQ: the fields mtu and packet_life_time are exact values.
constexpr std::uint8_t kExactly = 2;

void ready_to_receive(const CmId& id, const CmNumbers& numbers, ibv_qp_attr& attr) {
  const Port port = port_of_device(id);
  attr.path_mtu = active_mtu(port);
  attr.dest_qp_num = kQpOfTheCm;
  attr.rq_psn = 0;
  attr.max_dest_rd_atomic = numbers.responder_resources;
  attr.min_rnr_timer = kMinRnrTimer;
  attr.ah_attr = way_to(id, shown_gid(id.destination(), port));
}

/// Returns the packet life time, which is half of the acknowledgement timeout. The encoding is
/// logarithmic, so subtracting 1 halves the time.
std::uint8_t packet_life_time(const CmId& id) {
  const std::uint8_t timeout = id.ack_timeout.value_or(kAckTimeout);
  return timeout == 0 ? 0 : static_cast<std::uint8_t>(timeout - 1);
}

}  // namespace

ibv_gid shown_gid(const sockaddr& address, const Port& port) {
  const ibv_gid own = gid_of(address);
  const bool is_listed =
      std::ranges::any_of(port.gids, [&](const PortGid& entry) { return same_ip(entry.gid, own); });
  if (is_listed || !is_loopback(address)) return own;
  const bool ipv4 = net::is_ipv4(to_ip(own));
  const auto found = std::ranges::find_if(port.gids, [&](const PortGid& entry) {
    return !entry.is_free() && net::is_ipv4(to_ip(entry.ip)) == ipv4;
  });
  return found != port.gids.end() ? found->gid : own;
}

std::uint8_t index_of(const ibv_gid& gid, const Port& port) {
  const auto found = std::ranges::find_if(port.gids, [&](const PortGid& entry) {
    return same_ip(entry.gid, gid) && entry.type != GidType::kV1;
  });
  return found == port.gids.end() ? 0 : static_cast<std::uint8_t>(found - port.gids.begin());
}

// [RCM-92]
void show_addresses_as_ib(CmId& id) {
  auto& out = id.abi.route.addr.addr.ibaddr;
  const Port port = port_of_device(id);
  if (is_ip(&id.source())) out.sgid = shown_gid(id.source(), port);
  if (is_ip(&id.destination())) out.dgid = shown_gid(id.destination(), port);
  out.pkey = htons(kOnlyPkey);
}

// [RCM-90]
void show_path_as_ib(CmId& id) {
  const auto& ends = id.abi.route.addr.addr.ibaddr;
  id.path = {.dgid = ends.dgid,
             .sgid = ends.sgid,
             .hop_limit = kHops,
             .reversible = 1,
             .numb_path = 1,
             .pkey = ends.pkey,
             .mtu_selector = kExactly,
             .mtu = static_cast<std::uint8_t>(active_mtu(port_of_device(id))),
             .packet_life_time_selector = kExactly,
             .packet_life_time = packet_life_time(id)};
  id.abi.route.path_rec = &id.path;
  id.abi.route.num_paths = 1;
}

// [RCM-189, RCM-190, RCM-191, RCM-192, RCM-224, RCM-225, RCM-226, RCM-227, RCM-228]
int init_attr_as_ib(const CmId& id, ibv_qp_attr& attr, int& mask) {
  if (id.abi.verbs == nullptr) return EINVAL;
  const CmNumbers numbers = [&id] {
    const std::lock_guard lock(id.cm.mutex);
    return id.numbers;
  }();
  switch (attr.qp_state) {
    case IBV_QPS_INIT:
      attr.port_num = id.abi.port_num;
      attr.pkey_index = 0;
      attr.qp_access_flags =
          IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
      return 0;
    case IBV_QPS_RTR:
      ready_to_receive(id, numbers, attr);
      mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
      return 0;
    case IBV_QPS_RTS:
      attr.timeout = id.ack_timeout.value_or(kAckTimeout);
      attr.retry_cnt = numbers.retry_count;
      attr.rnr_retry = numbers.rnr_retry_count;
      attr.sq_psn = 0;
      attr.max_rd_atomic = numbers.initiator_depth;
      mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC;
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace iwarp::rdma_core
