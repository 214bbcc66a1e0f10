// SPDX-License-Identifier: Apache-2.0
// The queue pair, completion queues and shared receive queue of an rdma_cm_id, and its options.
#include <rdma/rdma_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cm/datagrams.hpp"
#include "cm/ib_attr.hpp"
#include "cm/id.hpp"
#include "objects/calls.hpp"
#include "process/call_site.hpp"
#include "qp/calls.hpp"
#include "qp/peer_timeouts.hpp"

namespace iwarp::rdma_core {
namespace {

/// Creates a completion channel and a completion queue for rdma_get_send_comp() or
/// rdma_get_recv_comp(). If the channel or the queue cannot be created, returns null and sets
/// errno.
/// [RCM-204]
ibv_cq* make_cq(CmId& id, ibv_comp_channel*& channel, std::uint32_t requests) {
  channel = ibv_create_comp_channel(id.abi.verbs);
  if (channel == nullptr) return nullptr;
  const int entries = static_cast<int>(std::max<std::uint32_t>(requests, 1));
  ibv_cq* const cq = ibv_create_cq(id.abi.verbs, entries, &id.abi, channel, 0);
  if (cq == nullptr) ibv_destroy_comp_channel(std::exchange(channel, nullptr));
  return cq;
}

/// Destroys the completion queues and completion channels that the id contains. Either
/// rdma_create_qp() has made them, or the program has stored its own in the id. In the latter case,
/// the same object may be stored for both sends and receives.
/// [RCM-215]
void destroy_cqs(rdma_cm_id& id) {
  if (id.send_cq == id.recv_cq) id.send_cq = nullptr;
  if (id.send_cq_channel == id.recv_cq_channel) id.send_cq_channel = nullptr;
  for (ibv_cq** cq : {&id.send_cq, &id.recv_cq}) {
    if (*cq != nullptr) ibv_destroy_cq(std::exchange(*cq, nullptr));
  }
  for (ibv_comp_channel** channel : {&id.send_cq_channel, &id.recv_cq_channel}) {
    if (*channel != nullptr) ibv_destroy_comp_channel(std::exchange(*channel, nullptr));
  }
}

/// If `cq` is null, sets it to the completion queue of the id, which is created if necessary.
/// Returns false and sets errno if that fails.
/// [RCM-205, RCM-206, RCM-289]
bool set_cq(CmId& id, ibv_cq*& cq, ibv_cq*& own, ibv_comp_channel*& channel,
            std::uint32_t requests) {
  if (cq != nullptr) return true;
  if (own == nullptr) own = make_cq(id, channel, requests);
  cq = own;
  return cq != nullptr;
}

/// Sets the protection domain to that of the id, unless the program has passed one.
template <typename Attributes>
void set_pd(const CmId& id, Attributes& attr, std::uint32_t has_pd) {
  if ((attr.comp_mask & has_pd) != 0 && attr.pd != nullptr) return;
  attr.comp_mask |= has_pd;
  attr.pd = id.abi.pd;
}

int change_state(rdma_cm_id* id, ibv_qp* qp, ibv_qp_state to) {
  ibv_qp_attr attr{};
  attr.qp_state = to;
  int mask = 0;
  if (rdma_init_qp_attr(id, &attr, &mask) != 0) return errno;
  return ibv_modify_qp(qp, &attr, mask);
}

/// Moves a new queue pair to INIT, because programs expect to be able to post receives after
/// rdma_create_qp(). Moves a queue pair of type UD further, to RTS. Returns 0 or an errno.
/// [RCM-198, RCM-199, RCM-267, RCM-359]
int initialize(rdma_cm_id* id, ibv_qp* qp) {
  int code = change_state(id, qp, IBV_QPS_INIT);
  if (qp->qp_type != IBV_QPT_UD) return code;
  for (const auto to : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (code == 0) code = change_state(id, qp, to);
  }
  return code;
}

int refuse_without_device() {
  return refused(EINVAL,
                 "the id has no device yet (wait for RDMA_CM_EVENT_ADDR_RESOLVED, or for "
                 "RDMA_CM_EVENT_CONNECT_REQUEST)");
}

// [RCM-195, RCM-196, RCM-197, RCM-202, RCM-203, RCM-207, RCM-210, RCM-211, RCM-212, RCM-213]
int create_qp(CmId& id, ibv_qp_init_attr_ex& attr) {
  if (id.abi.verbs == nullptr) return refuse_without_device();
  if (id.abi.qp != nullptr) return refused(EINVAL, "the id already has a queue pair");
  if (attr.qp_type != id.abi.qp_type) {
    return refused(
        EINVAL,
        "qp_type {}: the port space of the id requires {} (IBV_QPT_RC is 2, IBV_QPT_UD is 4)",
        static_cast<int>(attr.qp_type), static_cast<int>(id.abi.qp_type));
  }
  set_pd(id, attr, IBV_QP_INIT_ATTR_PD);
  if (attr.pd->context->device != id.abi.verbs->device) {
    return refused(EINVAL,
                   "pd belongs to device {}, but the id belongs to device {} (allocate the "
                   "protection domain with id->verbs)",
                   ibv_get_device_name(attr.pd->context->device),
                   ibv_get_device_name(id.abi.verbs->device));
  }
  if (attr.srq == nullptr) attr.srq = id.abi.srq;
  auto& own = id.abi;
  const auto contradicts = [](const ibv_cq* passed, const ibv_cq* of_id) {
    return passed != nullptr && of_id != nullptr && passed != of_id;
  };
  if (contradicts(attr.send_cq, own.send_cq) || contradicts(attr.recv_cq, own.recv_cq)) {
    return refused(EINVAL,
                   "send_cq or recv_cq differs from the completion queue of the id (pass null, or "
                   "id->send_cq and id->recv_cq)");
  }
  const bool has_cqs =
      set_cq(id, attr.send_cq, own.send_cq, own.send_cq_channel, attr.cap.max_send_wr) &&
      set_cq(id, attr.recv_cq, own.recv_cq, own.recv_cq_channel, attr.cap.max_recv_wr);
  int code = has_cqs ? 0 : errno;
  ibv_qp* qp = nullptr;
  if (code == 0) {
    qp = create_qp_ex(id.abi.verbs, &attr);
    code = qp != nullptr ? initialize(&id.abi, qp) : errno;
  }
  if (code != 0) {
    if (qp != nullptr) ibv_destroy_qp(qp);
    destroy_cqs(id.abi);
    return code;
  }
  id.abi.pd = attr.pd;
  id.abi.qp = qp;
  return 0;
}

// [RCM-208, RCM-209]
int create_basic_qp(CmId& id, ibv_pd* pd, ibv_qp_init_attr& attr) {
  ibv_qp_init_attr_ex extended{.qp_context = attr.qp_context,
                               .send_cq = attr.send_cq,
                               .recv_cq = attr.recv_cq,
                               .srq = attr.srq,
                               .cap = attr.cap,
                               .qp_type = attr.qp_type,
                               .sq_sig_all = attr.sq_sig_all};
  if (pd != nullptr) {
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd;
  }
  if (const int code = create_qp(id, extended)) return code;
  attr.send_cq = extended.send_cq;
  attr.recv_cq = extended.recv_cq;
  attr.srq = extended.srq;
  attr.cap = extended.cap;
  return 0;
}

// [RCM-217, RCM-218, RCM-219, RCM-220, RCM-221]
int create_srq(CmId& id, ibv_srq_init_attr_ex& attr) {
  if (id.abi.verbs == nullptr) return refuse_without_device();
  if (id.abi.srq != nullptr) return refused(EINVAL, "the id already has a shared receive queue");
  set_pd(id, attr, IBV_SRQ_INIT_ATTR_PD);
  ibv_srq* const srq = create_srq_ex(id.abi.verbs, &attr);
  if (srq == nullptr) return errno;
  id.abi.pd = attr.pd;
  id.abi.srq = srq;
  return 0;
}

/// Implements rdma_init_qp_attr(): sets the attributes that the kernel's iWARP CM returns. For INIT
/// and RTR, the attributes grant the peer access. For RTS, they contain only the state and the
/// port, because a queue pair of an RNIC goes to RTS when it is connected. Returns 0 or an errno.
/// [RCM-224, RCM-225, RCM-226, RCM-227, RCM-228]
int init_attr(const CmId& id, ibv_qp_attr& attr, int& mask) {
  if (id.abi.verbs == nullptr) return EINVAL;
  mask = 0;
  attr.port_num = id.abi.port_num;
  switch (attr.qp_state) {
    case IBV_QPS_INIT:
    case IBV_QPS_RTR:
      attr.qp_access_flags =
          IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT;
      return 0;
    case IBV_QPS_RTS:
      mask = IBV_QP_STATE | IBV_QP_PORT;
      return 0;
    default:
      return EINVAL;
  }
}

/// Sets RDMA_OPTION_ID_ACK_TIMEOUT. As in the kernel, fails for datagram ids, and for values of
/// more than five bits.
/// [RCM-318]
int set_ack_timeout(CmId& id, const void* value) {
  std::uint8_t timeout = 0;
  std::memcpy(&timeout, value, sizeof timeout);
  if (is_datagram(id) || timeout > kMaxTimeout) {
    return refused(
        EINVAL,
        "RDMA_OPTION_ID_ACK_TIMEOUT {}: must be at most {}, and is allowed only for connections",
        timeout, kMaxTimeout);
  }
  id.ack_timeout = timeout;
  return 0;
}

/// Implements rdma_set_option(). RDMA_OPTION_ID_TOS is accepted but has no effect.
/// [RCM-309, RCM-313, RCM-314, RCM-316, RCM-319, RCM-320]
int set_option(CmId& id, int level, int name, const void* value, std::size_t size) {
  if (level != RDMA_OPTION_ID) return ENOSYS;
  switch (name) {
    case RDMA_OPTION_ID_TOS:
      return size == sizeof(std::uint8_t) ? 0 : EINVAL;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      return size == sizeof(std::uint8_t) ? set_ack_timeout(id, value) : EINVAL;
    case RDMA_OPTION_ID_REUSEADDR:
    case RDMA_OPTION_ID_AFONLY: {
      if (size != sizeof(int)) return EINVAL;
      int on = 0;
      std::memcpy(&on, value, sizeof on);
      if (name == RDMA_OPTION_ID_AFONLY) return set_v6_only(id, on != 0);
      if (on == 0 && !id.life.is(IdState::kIdle)) return EINVAL;
      if (!std::exchange(id.reuses_address, on != 0) && id.life.is(IdState::kBound)) {
        allow_reuse(id);
      }
      return 0;
    }
    default:
      return ENOSYS;
  }
}

}  // namespace

void make_stand_in(CmId& id) {
  if (id.stand_in != nullptr) return;
  ibv_cq* const cq = ibv_create_cq(id.abi.verbs, 1, nullptr, nullptr, 0);
  ibv_qp_init_attr attr{.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  if (cq != nullptr) id.stand_in = ibv_create_qp(default_pd(id.abi.verbs), &attr);
  if (id.stand_in != nullptr) return;
  const int code = errno;
  if (cq != nullptr) ibv_destroy_cq(cq);
  throw std::system_error(code, std::generic_category());
}

void destroy_stand_in(CmId& id) {
  if (id.stand_in == nullptr) return;
  ibv_cq* const cq = id.stand_in->send_cq;
  ibv_destroy_qp(id.stand_in);
  ibv_destroy_cq(cq);
}

extern "C" {

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attr) {
  const CallSite here(__builtin_return_address(0), "rdma_create_qp");
  return cm_result([&] { return create_basic_qp(CmId::of(id), pd, *attr); });
}

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attr) {
  const CallSite here(__builtin_return_address(0), "rdma_create_qp_ex");
  return cm_result([&] { return create_qp(CmId::of(id), *attr); });
}

// [RCM-214]
void rdma_destroy_qp(rdma_cm_id* id) {
  const CallSite here(__builtin_return_address(0));
  detach_groups(CmId::of(id));
  if (id->qp != nullptr) ibv_destroy_qp(std::exchange(id->qp, nullptr));
  destroy_cqs(*id);
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
  const CallSite here(__builtin_return_address(0), "rdma_create_srq");
  return cm_result([&] {
    ibv_srq_init_attr_ex extended{.srq_context = attr->srq_context,
                                  .attr = attr->attr,
                                  .comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
                                  .srq_type = IBV_SRQT_BASIC};
    if (pd != nullptr) {
      extended.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
      extended.pd = pd;
    }
    const int code = create_srq(CmId::of(id), extended);
    attr->attr = extended.attr;
    return code;
  });
}

int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attr) {
  const CallSite here(__builtin_return_address(0), "rdma_create_srq_ex");
  return cm_result([&] { return create_srq(CmId::of(id), *attr); });
}

// [RCM-223]
void rdma_destroy_srq(rdma_cm_id* id) {
  if (id->srq != nullptr) ibv_destroy_srq(std::exchange(id->srq, nullptr));
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) {
  const CallSite here(__builtin_return_address(0), "rdma_init_qp_attr");
  if (is_datagram(CmId::of(id))) {
    return cm_result([&] { return init_attr_of_datagrams(CmId::of(id), *attr, *mask); });
  }
  return cm_result([&] {
    CmId& self = CmId::of(id);
    return (self.cm.persona == Persona::kRoce ? init_attr_as_ib : init_attr)(self, *attr, *mask);
  });
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t size) {
  const CallSite here(__builtin_return_address(0), "rdma_set_option");
  return cm_result([&] { return set_option(CmId::of(id), level, name, value, size); });
}

}  // extern "C"

}  // namespace iwarp::rdma_core
