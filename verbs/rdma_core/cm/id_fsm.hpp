// SPDX-License-Identifier: Apache-2.0
// The states of an rdma_cm_id. A table lists the calls and events that are allowed in each state,
// and the new state after each of them. If the table has no row for a call in the current state,
// the call fails with EINVAL. The table also applies to datagram ids.
#pragma once

#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::rdma_core {

enum class IdState : std::uint8_t {
  kIdle,
  kBound,
  kAddressResolved,
  kRouteResolved,
  kListening,
  kRequested,   ///< the id was made for a request that the program has not answered yet
  kConnecting,  ///< rdma_connect() or rdma_accept() was called
  kConnected,
  kEnded,
};
inline std::string_view to_string(IdState state) { return bytes::name_of(state); }

enum class IdEvent : std::uint8_t {
  kBind,
  kResolveAddress,
  kResolveRoute,
  kListen,
  kRequest,        ///< the id was made for a connection request
  kConnect,        ///< rdma_connect()
  kConnectFailed,  ///< rdma_connect() returns an error
  kAccept,         ///< rdma_accept()
  kAcceptFailed,   ///< rdma_accept() returns an error
  kAnswer,  ///< rdma_accept() of a datagram id, which sends an answer and makes no connection
  kReject,
  kEstablished,
  kOver,  ///< the connection ended or could not be established
};

inline constexpr auto kIdEdges = bytes::machine<IdState::kIdle, IdEvent>({
    {IdState::kIdle, IdEvent::kBind, IdState::kBound, "rdma_bind_addr(3)"},
    {IdState::kIdle, IdEvent::kResolveAddress, IdState::kAddressResolved, "rdma_resolve_addr(3)"},
    {IdState::kBound, IdEvent::kResolveAddress, IdState::kAddressResolved, "rdma_resolve_addr(3)"},
    {IdState::kAddressResolved, IdEvent::kResolveRoute, IdState::kRouteResolved,
     "rdma_resolve_route(3)"},
    {IdState::kBound, IdEvent::kListen, IdState::kListening, "rdma_listen(3)"},
    {IdState::kIdle, IdEvent::kRequest, IdState::kRequested, "RDMA_CM_EVENT_CONNECT_REQUEST"},
    {IdState::kRouteResolved, IdEvent::kConnect, IdState::kConnecting, "rdma_connect(3)"},
    {IdState::kConnecting, IdEvent::kConnectFailed, IdState::kRouteResolved,
     "the program may repeat the call"},
    {IdState::kRequested, IdEvent::kAccept, IdState::kConnecting, "rdma_accept(3)"},
    {IdState::kConnecting, IdEvent::kAcceptFailed, IdState::kRequested,
     "the program may repeat the call"},
    {IdState::kRequested, IdEvent::kAnswer, IdState::kConnected, "rdma_accept(3), UD"},
    {IdState::kRequested, IdEvent::kReject, IdState::kEnded, "rdma_reject(3)"},
    {IdState::kConnecting, IdEvent::kEstablished, IdState::kConnected, "RDMA_CM_EVENT_ESTABLISHED"},
    {IdState::kConnecting, IdEvent::kOver, IdState::kEnded,
     "RDMA_CM_EVENT_CONNECT_ERROR, UNREACHABLE, REJECTED"},
    {IdState::kConnected, IdEvent::kOver, IdState::kEnded, "RDMA_CM_EVENT_DISCONNECTED"},
});

class IdLife {
 public:
  bool is(IdState state) const { return state_ == state; }
  IdState state() const { return state_; }
  bool allows(IdEvent event) const { return bytes::step(kIdEdges, state_, event).has_value(); }
  /// Changes the state as the table says. If the table has no row for `event` in the current state,
  /// does not change the state and returns false.
  bool step(IdEvent event) {
    const auto next = bytes::step(kIdEdges, state_, event);
    if (next) state_ = *next;
    return next.has_value();
  }

 private:
  IdState state_ = IdState::kIdle;
};

}  // namespace iwarp::rdma_core
