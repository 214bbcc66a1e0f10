// SPDX-License-Identifier: Apache-2.0
// Datagram ids: ids of RDMA_PS_UDP and RDMA_PS_IPOIB, which have no connection. A client asks a UDP
// port of the server for the number and the Q_Key of a queue pair. The program that listens at this
// port accepts or rejects the request.
#include "cm/datagrams.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "cm/address.hpp"
#include "cm/ib_attr.hpp"
#include "device/port.hpp"
#include "objects/objects.hpp"
#include "process/connection_options.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint8_t kHopLimit = 64;

// Returns a number that identifies a request. The number must be unpredictable, so that no third
// party can forge an answer to the request.
std::uint32_t random_id() {
  std::random_device device;
  return device();
}

// Maximum size of the private data of a reply, from the kernel's ib_cm.h:
// IB_CM_SIDR_REP_PRIVATE_DATA_SIZE.
constexpr std::size_t kMostOfReply = 136;

std::vector<std::byte> octets_of(const void* data, std::uint8_t length) {
  const auto* octets = static_cast<const std::byte*>(data);
  if (octets == nullptr) return {};
  return {octets, octets + length};
}

sockaddr_storage to_sockaddr(const verbs::IpAddress& ip, std::uint16_t port) {
  sockaddr_storage out{};
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  v6.sin6_family = AF_INET6;
  std::ranges::copy(ip, v6.sin6_addr.s6_addr);
  out = unmapped(out);
  set_port(reinterpret_cast<sockaddr&>(out), cm().ports.program(port));
  return out;
}

// [RCM-345, RCM-347]
void request_received(CmId& listener, const SidrEnd::Peer& from, SidrMessage message) {
  auto child = make_child(listener, to_sockaddr(from.path.own, listener.sidr->socket.port()),
                          to_sockaddr(from.path.peer, from.port));
  child->sidr = listener.sidr;
  child->asked_by = from;
  auto record = make_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST);
  set_private_data(*record, record->abi.param.ud, std::move(message.private_data));
  set_child(*record, listener, std::move(child));
  ++listener.waiting_requests;
  queue_event(std::move(record));
}

// [RCM-346, RCM-347, RCM-351, RCM-352]
void answer_received(CmId& asker, const SidrMessage& message) {
  const bool accepted = !message.rejected;
  (void)asker.life.step(accepted ? IdEvent::kEstablished : IdEvent::kOver);
  auto record = make_event(asker, accepted ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE,
                           accepted ? 0 : -ECONNREFUSED);
  auto& ud = record->abi.param.ud;
  set_private_data(*record, ud, message.private_data);
  ud.qp_num = message.qp_num;
  ud.qkey = message.q_key;
  ud.ah_attr = way_to(asker, shown_gid(asker.destination(), port_of_device(asker)));
  queue_event(std::move(record));
}

// [RCM-353]
void answer_timed_out(CmId& asker) {
  (void)asker.life.step(IdEvent::kOver);
  queue_event(make_event(asker, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT));
}

// [RCM-358]
Sidr::Backlog backlog_of(const CmId& id) {
  if (!id.life.is(IdState::kListening)) return Sidr::Backlog::kNotListening;
  const bool is_full = id.waiting_requests.load() >= id.backlog;
  return is_full ? Sidr::Backlog::kFull : Sidr::Backlog::kHasRoom;
}

}  // namespace

std::unique_ptr<Sidr> make_sidr() {
  return std::make_unique<Sidr>(
      Sidr::Calls{backlog_of, request_received, answer_received, answer_timed_out}, cm().mutex);
}

bool is_datagram(const CmId& id) { return id.abi.ps != RDMA_PS_TCP; }

int open_any(CmId& id) {
  if (id.sidr != nullptr) return 0;
  auto socket = net::DatagramSocket::open(0, port_range());
  if (!socket) return refused(socket.error());
  set_port(id.source(), id.cm.ports.program(socket->port()));
  id.sidr = std::make_shared<SidrEnd>(std::move(*socket));
  return 0;
}

ibv_gid gid_of(const sockaddr& address) {
  ibv_gid out{};
  if (address.sa_family == AF_INET6) {
    std::ranges::copy(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr.s6_addr, out.raw);
    return out;
  }
  out.raw[10] = out.raw[11] = 0xFF;
  std::memcpy(out.raw + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  return out;
}

ibv_ah_attr way_to(const CmId& id, const ibv_gid& peer) {
  ibv_ah_attr out{};
  out.is_global = 1;
  out.port_num = id.abi.port_num;
  out.grh.dgid = peer;
  out.grh.hop_limit = kHopLimit;
  const Port port = port_of_device(id);
  out.grh.sgid_index = index_of(shown_gid(id.source(), port), port);
  return out;
}

unsigned interface_of(const CmId& id) {
  const Port port = port_of_device(id);
  const auto index = way_to(id, {}).grh.sgid_index;
  return index < port.gids.size() ? port.gids[index].interface : 0;
}

int bind_datagrams(CmId& id, const sockaddr& address) {
  const bool any = is_any(address);
  const std::uint16_t port = id.cm.ports.tcp(port_of(address));
  auto socket = any ? net::DatagramSocket::open(port, port_range())
                    : net::DatagramSocket::open_at(to_ip(gid_of(address)), 0, port);
  if (!socket) return refused(socket.error());
  id.abi.route.addr.src_storage = copy_of(address);
  set_port(id.source(), id.cm.ports.program(socket->port()));
  id.sidr = std::make_shared<SidrEnd>(std::move(*socket));
  (void)id.life.step(IdEvent::kBind);
  if (!any && !is_loopback(address)) use_device(id);
  return 0;
}

// [RCM-114]
int listen_datagrams(CmId& id, int backlog) {
  const std::lock_guard lock(id.cm.mutex);
  id.backlog = backlog;
  (void)id.life.step(IdEvent::kListen);
  id.core->service<Sidr>().add(id.sidr, id);
  return 0;
}

// [RCM-345]
int connect_datagrams(CmId& id, const rdma_conn_param* param) {
  if (!id.alive()) return EINVAL;
  if (!id.life.allows(IdEvent::kConnect)) {
    return refuse_in_state(
        id, "call rdma_resolve_route() and wait for RDMA_CM_EVENT_ROUTE_RESOLVED first");
  }
  SidrMessage request{.kind = SidrMessage::Kind::kRequest, .id = random_id()};
  if (param != nullptr)
    request.private_data = octets_of(param->private_data, param->private_data_len);
  // [RCM-354]
  const std::size_t size = request.private_data.size();
  if (const int code = check_private_data(id, "rdma_connect()", kSidrPrivateData, size)) {
    return code;
  }
  if (const int code = open_any(id)) return code;
  {
    const std::lock_guard lock(id.cm.mutex);
    const SidrEnd::Peer to{.path = {.own = to_ip(gid_of(id.source())),
                                    .peer = to_ip(gid_of(id.destination())),
                                    .interface = interface_of(id)},
                           .port = id.cm.ports.tcp(port_of(id.destination())),
                           .request = request.id};
    id.core->service<Sidr>().add(id.sidr, id);
    (void)id.life.step(IdEvent::kConnect);
    Sidr::ask(*id.sidr, to, request);
  }
  id.core->recheck();
  return wait_for_event(id);
}

// [RCM-348, RCM-349, RCM-350, RCM-355, RCM-360]
int accept_datagrams(CmId& id, const rdma_conn_param* param) {
  if (!id.alive()) return EINVAL;
  SidrMessage reply{.kind = SidrMessage::Kind::kReply, .q_key = kUdpQKey};
  reply.qp_num = id.abi.qp != nullptr ? id.abi.qp->qp_num : param != nullptr ? param->qp_num : 0;
  if (param != nullptr)
    reply.private_data = octets_of(param->private_data, param->private_data_len);
  if (reply.qp_num == 0) {
    return refused(EINVAL,
                   "the id has no queue pair, and qp_num is 0 (call rdma_create_qp() first, or set "
                   "qp_num in rdma_conn_param)");
  }
  const std::size_t size = reply.private_data.size();
  if (const int code = check_private_data(id, "rdma_accept()", kMostOfReply, size)) return code;
  const std::lock_guard lock(id.cm.mutex);
  if (!id.asked_by || !id.life.step(IdEvent::kAnswer)) {
    return refuse_in_state(
        id, "call rdma_accept() once, with the id of an RDMA_CM_EVENT_CONNECT_REQUEST");
  }
  reply.id = id.asked_by->request;
  return Sidr::answer(*id.sidr, *id.asked_by, reply) ? 0 : ETIMEDOUT;
}

int reject_datagrams(CmId& id, const void* data, std::uint8_t length) {
  if (!id.alive()) return EINVAL;
  const std::size_t size = data != nullptr ? length : 0;
  if (const int code = check_private_data(id, "rdma_reject()", kMostOfReply, size)) return code;
  const std::lock_guard lock(id.cm.mutex);
  if (!id.asked_by || !id.life.step(IdEvent::kReject)) {
    return refuse_in_state(
        id, "call rdma_reject() once, with the id of an RDMA_CM_EVENT_CONNECT_REQUEST");
  }
  const SidrMessage reply{.kind = SidrMessage::Kind::kReply,
                          .rejected = true,
                          .id = id.asked_by->request,
                          .private_data = octets_of(data, length)};
  (void)Sidr::answer(*id.sidr, *id.asked_by, reply);
  return 0;
}

// [RCM-229]
int init_attr_of_datagrams(const CmId& id, ibv_qp_attr& attr, int& mask) {
  if (id.abi.verbs == nullptr) return EINVAL;
  switch (attr.qp_state) {
    case IBV_QPS_INIT:
      attr.port_num = id.abi.port_num;
      attr.pkey_index = 0;
      attr.qkey = kUdpQKey;
      mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
      return 0;
    case IBV_QPS_RTR:
      mask = IBV_QP_STATE;
      return 0;
    case IBV_QPS_RTS:
      attr.sq_psn = 0;
      mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
      return 0;
    default:
      return EINVAL;
  }
}

void forget_datagrams(CmId& id) {
  if (id.sidr == nullptr) return;
  // If the id was made for a request that the program has not answered, forgets the request. If the
  // peer retransmits it, the retransmission is treated as a new request.
  if (id.asked_by) {
    std::erase_if(id.sidr->answers, [&](const SidrEnd::Answer& answer) {
      return !answer.octets && answer.to.is(*id.asked_by);
    });
  } else if (id.core != nullptr) {
    id.core->service<Sidr>().remove(*id.sidr);
  }
}

}  // namespace iwarp::rdma_core
