// SPDX-License-Identifier: Apache-2.0
// Endpoints: rdma_create_ep() creates a synchronous id, resolves or binds it, and creates its queue
// pair, all in one call.
#include <rdma/rdma_verbs.h>

#include <cerrno>

#include "cm/id.hpp"
#include "process/call_site.hpp"

namespace iwarp::rdma_core {
namespace {

// The timeout that is passed to rdma_resolve_addr() and rdma_resolve_route(). In this library both
// calls take much less time.
constexpr int kTimeoutMs = 2000;

int last_error(int result) { return result == 0 ? 0 : errno; }

/// Prepares an id that will listen. Stores `attr` for the queue pairs of the ids that
/// rdma_get_request() will return.
/// [RCM-242, RCM-243]
int prepare_passive(CmId& id, const rdma_addrinfo& info, ibv_pd* pd, const ibv_qp_init_attr* attr) {
  if (rdma_bind_addr(&id.abi, info.ai_src_addr) != 0) return errno;
  if (pd != nullptr) id.abi.pd = pd;
  if (attr != nullptr) {
    id.child_qp = *attr;
    id.child_qp->qp_type = id.abi.qp_type;
  }
  return 0;
}

// [RCM-239, RCM-240, RCM-241, RCM-246, RCM-247]
int prepare_active(CmId& id, const rdma_addrinfo& info, ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (rdma_resolve_addr(&id.abi, info.ai_src_addr, info.ai_dst_addr, kTimeoutMs) != 0) return errno;
  if (rdma_resolve_route(&id.abi, kTimeoutMs) != 0) return errno;
  const auto* const data = static_cast<const std::byte*>(info.ai_connect);
  if (data != nullptr) id.connect_data.assign(data, data + info.ai_connect_len);
  if (attr == nullptr) return 0;
  attr->qp_type = id.abi.qp_type;
  return last_error(rdma_create_qp(&id.abi, pd, attr));
}

// [RCM-244, RCM-245]
int create_ep(rdma_cm_id** out, const rdma_addrinfo& info, ibv_pd* pd, ibv_qp_init_attr* attr) {
  rdma_cm_id* id = nullptr;
  const auto space = static_cast<rdma_port_space>(info.ai_port_space);
  if (rdma_create_id(nullptr, &id, nullptr, space) != 0) return errno;
  const int code = guarded([&] {
    if (info.ai_qp_type != 0) id->qp_type = static_cast<ibv_qp_type>(info.ai_qp_type);
    const bool passive = (info.ai_flags & RAI_PASSIVE) != 0;
    return passive ? prepare_passive(CmId::of(id), info, pd, attr)
                   : prepare_active(CmId::of(id), info, pd, attr);
  });
  if (code != 0) {
    rdma_destroy_id(id);
    return code;
  }
  *out = id;
  return 0;
}

}  // namespace
extern "C" {

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* pd, ibv_qp_init_attr* attr) {
  const CallSite here(__builtin_return_address(0), "rdma_create_ep");
  if (info == nullptr) return minus_one(EINVAL);
  return cm_result([&] { return create_ep(id, *info, pd, attr); });
}

// [RCM-248]
void rdma_destroy_ep(rdma_cm_id* id) {
  const CallSite here(__builtin_return_address(0));
  rdma_destroy_qp(id);
  rdma_destroy_srq(id);
  rdma_destroy_id(id);
}

}  // extern "C"

}  // namespace iwarp::rdma_core
