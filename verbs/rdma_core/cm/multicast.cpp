// SPDX-License-Identifier: Apache-2.0
// Multicast groups. A host can join an IP multicast group without asking another host, so
// rdma_join_multicast() completes at once. The event that it queues contains the attributes with
// which the program can send to the group.
#include <algorithm>
#include <cerrno>

#include "cm/address.hpp"
#include "cm/datagrams.hpp"
#include "objects/objects.hpp"
#include "process/refusal.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint8_t kGroupHops = 1;

int refuse_for_connections() {
  return refused("multicast on a connection",
                 "TCP has no multicast (use --as roce and port space RDMA_PS_UDP)");
}

// [RCM-290, RCM-291, RCM-292, RCM-293, RCM-294, RCM-295, RCM-296, RCM-297, RCM-298]
int join_group(CmId& id, const sockaddr* address, bool only_sends, void* context) {
  if (!is_datagram(id)) return refuse_for_connections();
  if (!is_ip(address) || id.abi.verbs == nullptr || !id.alive()) return EINVAL;
  const ibv_gid group = gid_of(*address);
  if (!net::is_multicast(to_ip(group))) return EINVAL;
  if (id.abi.qp != nullptr && !only_sends) {
    const unsigned interface = interface_of(id);
    const int code = Qp::of(id.abi.qp).attach(to_ip(group), {&interface, 1});
    if (code != 0) return code;
  }
  id.groups.push_back({.address = to_ip(group), .only_sends = only_sends});
  {
    const std::lock_guard lock(id.cm.mutex);
    auto record = make_event(id, RDMA_CM_EVENT_MULTICAST_JOIN);
    auto& ud = record->abi.param.ud;
    ud.private_data = context;
    ud.qp_num = verbs::kMulticastQp;
    ud.qkey = kUdpQKey;
    ud.ah_attr = way_to(id, group);
    ud.ah_attr.grh.hop_limit = kGroupHops;
    queue_event(std::move(record));
  }
  return wait_for_event(id);
}

/// Removes the event of the join from the queue, if the program has not read it.
/// [RCM-306]
void cancel_join(CmId& id, const ibv_gid& group) {
  std::unique_ptr<CmEventRecord> cancelled;
  const std::lock_guard lock(id.cm.mutex);
  id.channel().events.remove([&](CmEventRecord* event) {
    const bool is_join = event->owner == &id && event->abi.event == RDMA_CM_EVENT_MULTICAST_JOIN &&
                         to_ip(event->abi.param.ud.ah_attr.grh.dgid) == to_ip(group);
    if (!is_join || cancelled != nullptr) return false;
    cancelled.reset(event);
    --id.outstanding;
    return true;
  });
}

// [RCM-303, RCM-304, RCM-305]
int leave_group(CmId& id, const sockaddr* address) {
  if (!is_datagram(id)) return refuse_for_connections();
  if (!is_ip(address)) return EINVAL;
  const ibv_gid gid = gid_of(*address);
  const auto group = to_ip(gid);
  if (!net::is_multicast(group)) return EINVAL;
  const auto joined = std::ranges::find(id.groups, group, &CmId::Group::address);
  if (joined == id.groups.end()) return EADDRNOTAVAIL;
  // The program may have detached the queue pair by itself.
  if (id.abi.qp != nullptr && !joined->only_sends && id.alive()) {
    (void)Qp::of(id.abi.qp).detach(group);
  }
  id.groups.erase(joined);
  cancel_join(id, gid);
  return 0;
}

/// [RCM-301, RCM-302]
int join_with(CmId& id, const rdma_cm_join_mc_attr_ex& attr, void* context) {
  constexpr std::uint32_t kNeeded = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  if ((attr.comp_mask & ~kNeeded) != 0) return ENOTSUP;
  if (attr.comp_mask != kNeeded || attr.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
  const bool only_sends = attr.join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  return join_group(id, attr.addr, only_sends, context);
}

}  // namespace

// [RCM-307]
void detach_groups(CmId& id) {
  if (id.abi.qp == nullptr || !id.alive()) return;
  for (const CmId::Group& group : id.groups) {
    if (group.only_sends) continue;
    (void)guarded([&] { return Qp::of(id.abi.qp).detach(group.address); });
  }
}

extern "C" {

// [IBV-591]
int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  const CallSite here(__builtin_return_address(0), "rdma_join_multicast");
  return cm_result([&] { return join_group(CmId::of(id), address, false, context); });
}

// [RCM-299, RCM-300]
int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attr, void* context) {
  const CallSite here(__builtin_return_address(0), "rdma_join_multicast_ex");
  return cm_result([&] { return join_with(CmId::of(id), *attr, context); });
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
  const CallSite here(__builtin_return_address(0), "rdma_leave_multicast");
  return cm_result([&] { return leave_group(CmId::of(id), address); });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
