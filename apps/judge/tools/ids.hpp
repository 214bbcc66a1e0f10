// SPDX-License-Identifier: Apache-2.0
// What cases about rdma_cm share: addresses, events with a deadline, and two ids of the device, one
// of which listens. Objects of librdmacm end with the process of the case, so cases destroy only
// those whose end they test. Setting up reports a step only if it fails.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <string_view>

#include "judge/tools/ends.hpp"

namespace iwarp::judge {

inline constexpr std::uint16_t kFreePort = 9;           ///< no case listens there
inline constexpr std::uint32_t kQKeyOfCm = 0x01234567;  ///< RDMA_UDP_QKEY
inline constexpr int kLimitMs = static_cast<int>(std::chrono::milliseconds(kLimit).count());

/// An IPv4 or IPv6 address. `port` is in network byte order, as in rdma_get_src_port().
struct Address {
  explicit Address(const std::string& host, std::uint16_t port = 0);
  // Implicit, so that an Address is passed as the argument of type sockaddr*.
  operator sockaddr*() {  // NOLINT(google-explicit-constructor)
    return reinterpret_cast<sockaddr*>(&storage);
  }
  sockaddr_storage storage{};
};
/// "192.0.2.1", or "" for any other family.
std::string host_of(const sockaddr* address);

/// The contents of an event that has been acknowledged.
struct CmEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  rdma_cm_id* listener = nullptr;
  rdma_conn_param conn{};  ///< without private_data
  rdma_ud_param ud{};      ///< without private_data
  std::string data;        ///< private data
};

/// The name of the event without RDMA_CM_EVENT_.
std::string_view event_name(rdma_cm_event_type type);
/// Waits for the next event other than TIMEWAIT_EXIT, which only the CM of InfiniBand and RoCE
/// reports, some time after DISCONNECTED. The caller acknowledges it. Null if none comes.
rdma_cm_event* wait_event(rdma_event_channel* channel, std::chrono::milliseconds limit = kLimit);
/// Waits for the next event and compares its type. The returned event is empty if none comes.
CmEvent expect_event(Judge& judge, std::string_view step, rdma_event_channel* channel,
                     std::initializer_list<rdma_cm_event_type> allowed,
                     std::chrono::milliseconds limit = kLimit);
/// As expect_event(), but reports only a failure, and then ends the case.
CmEvent await(Judge& judge, rdma_event_channel* channel, rdma_cm_event_type type);
/// Compares that no event of the calls before is queued: the next event is that of an id which
/// resolves an address now.
bool expect_no_event(Judge& judge, std::string_view step, rdma_event_channel* channel,
                     rdma_port_space space = RDMA_PS_TCP);
/// Compares what the initiator of a Write or Send sees that the peer's memory refuses: as RoCE
/// `status`. As an RNIC, the request may complete before the peer refuses it.
void expect_refused(Judge& judge, std::string_view step, ibv_cq* cq,
                    ibv_wc_status status = IBV_WC_REM_ACCESS_ERR);

rdma_event_channel* new_channel(Judge& judge);
/// Connection parameters with private data, which `data` must hold until the call.
rdma_conn_param with_data(const std::string& data);
/// If `channel` is null, the id is synchronous.
rdma_cm_id* new_id(Judge& judge, rdma_event_channel* channel, rdma_port_space space = RDMA_PS_TCP);
/// An id that begins to resolve the address of the device.
rdma_cm_id* new_resolving(Judge& judge, rdma_event_channel* channel,
                          rdma_port_space space = RDMA_PS_TCP);
rdma_cm_id* new_listener(Judge& judge, rdma_event_channel* channel, Address at, int backlog = 8,
                         rdma_port_space space = RDMA_PS_TCP);
/// An id of which the address `to` is resolved, and the route, too, unless `has_route` is false.
rdma_cm_id* new_client(Judge& judge, rdma_event_channel* channel, Address to,
                       rdma_port_space space = RDMA_PS_TCP, bool has_route = true);
/// As new_client(), with a queue pair, and connecting.
rdma_cm_id* new_connecting(Judge& judge, rdma_event_channel* channel, Address to,
                           rdma_port_space space = RDMA_PS_TCP);
/// Attributes of a queue pair with which all requests are signaled.
ibv_qp_init_attr qp_init(const rdma_cm_id* id);
void create_qp(Judge& judge, rdma_cm_id* id);
ibv_qp_attr query(Judge& judge, ibv_qp* qp, int mask);

/// A listener on the address of the device, a client with a queue pair that has resolved it, and
/// the id of the client's request. Each side has a channel of its own.
struct Ids {
  explicit Ids(Judge& judge, rdma_port_space space = RDMA_PS_TCP, bool client_has_qp = true);
  /// Makes another id the client.
  void renew_client();
  /// Connects the client, and sets `server`. Returns CONNECT_REQUEST.
  CmEvent request(rdma_conn_param* parameters = nullptr);
  /// Accepts the request and waits until both ends are connected. Returns the client's ESTABLISHED.
  CmEvent accept(rdma_conn_param* parameters = nullptr);
  void connect() {
    request();
    accept();
  }

  Judge& judge;
  rdma_event_channel* at_client;
  rdma_event_channel* at_server;
  rdma_cm_id* listener;
  Address address;  ///< of the listener
  rdma_cm_id* client;
  rdma_cm_id* server = nullptr;
};

}  // namespace iwarp::judge
