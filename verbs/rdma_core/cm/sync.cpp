// SPDX-License-Identifier: Apache-2.0
// Synchronous ids, which the program creates without an event channel. Each call for such an id
// waits for its event, and stores the event in rdma_cm_id::event until the next call that waits.
#include <cerrno>
#include <cstdlib>

#include "cm/id.hpp"

namespace iwarp::rdma_core {
namespace {

/// Returns 0 if the event reports success, or an errno for its status.
/// [RCM-237]
int status_of(const rdma_cm_event& event) {
  if (event.event == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
  return std::abs(event.status);
}

/// Makes `child`, the new id, the owner of the event that reports the connection request. The
/// program can then destroy the listener before it destroys the child.
/// [RCM-250, RCM-254]
void adopt(CmId& child, rdma_cm_event* event) {
  auto& record = CmEventRecord::of(event);
  const std::lock_guard lock(child.cm.mutex);
  --record.owner->outstanding;
  record.owner = &child;
  ++child.outstanding;
  child.abi.event = event;
  child.cm.acknowledged.notify_all();
}

// [RCM-243, RCM-249, RCM-251, RCM-253]
int request_of(CmId& listener, rdma_cm_id** out) {
  if (!listener.synchronous()) return EINVAL;
  if (const int code = wait_for_event(listener)) return code;
  rdma_cm_event* const event = std::exchange(listener.abi.event, nullptr);
  if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
    rdma_ack_cm_event(event);
    return EINVAL;
  }
  CmId& child = CmId::of(event->id);
  adopt(child, event);
  const int code = guarded([&] {
    make_synchronous(child);
    if (!listener.child_qp) return 0;
    ibv_qp_init_attr attr = *listener.child_qp;
    return rdma_create_qp(&child.abi, listener.abi.pd, &attr) == 0 ? 0 : errno;
  });
  if (code != 0) {
    rdma_destroy_id(&child.abi);  // rdma_destroy_id() also rejects the connection request
    return code;
  }
  *out = &child.abi;
  return 0;
}

}  // namespace

// [RCM-234, RCM-235, RCM-255]
int wait_for_event(CmId& id) {
  if (!id.synchronous()) return 0;
  acknowledge_last(id);
  if (rdma_get_cm_event(id.abi.channel, &id.abi.event) != 0) return errno;
  const int code = status_of(*id.abi.event);
  if (code != 0) CallSite::explain();  // the log says already why there is no connection
  return code;
}

void acknowledge_last(CmId& id) {
  if (id.abi.event != nullptr) rdma_ack_cm_event(std::exchange(id.abi.event, nullptr));
}

extern "C" int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
  const CallSite here(__builtin_return_address(0), "rdma_get_request");
  return cm_result([&] { return request_of(CmId::of(listener), id); });
}

}  // namespace iwarp::rdma_core
