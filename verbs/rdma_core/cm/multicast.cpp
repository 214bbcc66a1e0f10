// SPDX-License-Identifier: Apache-2.0
// Multicast groups. A host can join an IP multicast group without asking another host, so
// rdma_join_multicast() completes at once. The event that it queues contains the attributes with
// which the program can send to the group.
#include <algorithm>
#include <cerrno>

#include "cm/address.hpp"
#include "cm/datagrams.hpp"
#include "objects/address_handle.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint8_t kGroupHops = 1;

int refuse_for_connections() {
  return refused("multicast on a connection",
                 "TCP has no multicast (use --as roce and port space RDMA_PS_UDP)");
}

// [RCM-290, RCM-291, RCM-292, RCM-293, RCM-294, RCM-295, RCM-296, RCM-297, RCM-298]
int join_group(CmId& id, const sockaddr* address, void* context) {
  if (!is_datagram(id)) return refuse_for_connections();
  if (!is_ip(address) || id.abi.verbs == nullptr || !id.alive()) return EINVAL;
  const ibv_gid group = gid_of(*address);
  if (!net::is_multicast(to_ip(group))) return EINVAL;
  if (id.abi.qp != nullptr) {
    const unsigned interface = interface_of(id);
    const int code = Qp::of(id.abi.qp).attach(to_ip(group), {&interface, 1});
    if (code != 0) return code;
  }
  {
    const std::lock_guard lock(cm().mutex);
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

// [RCM-303]
int leave_group(CmId& id, const sockaddr* address) {
  if (!is_datagram(id)) return refuse_for_connections();
  if (!is_ip(address)) return EINVAL;
  const auto group = to_ip(gid_of(*address));
  if (!net::is_multicast(group)) return EINVAL;
  if (id.abi.qp == nullptr || !id.alive()) return 0;
  return Qp::of(id.abi.qp).detach(group);
}

}  // namespace
extern "C" {

// [IBV-591]
int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  const CallSite here(__builtin_return_address(0), "rdma_join_multicast");
  return cm_result([&] { return join_group(CmId::of(id), address, context); });
}

// [RCM-299, RCM-300, RCM-301]
int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attr, void* context) {
  const CallSite here(__builtin_return_address(0), "rdma_join_multicast_ex");
  constexpr auto kAddress = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
  return cm_result([&] {
    if ((attr->comp_mask & kAddress) == 0) return EINVAL;
    const bool sends_only = (attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) != 0 &&
                            attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    // If the program only sends to the group, hides the queue pair from join_group(), which would
    // otherwise make it a member of the group.
    ibv_qp* const qp = sends_only ? std::exchange(id->qp, nullptr) : nullptr;
    const int code = join_group(CmId::of(id), attr->addr, context);
    if (sends_only) id->qp = qp;
    return code;
  });
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
  const CallSite here(__builtin_return_address(0), "rdma_leave_multicast");
  return cm_result([&] { return leave_group(CmId::of(id), address); });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
