// SPDX-License-Identifier: Apache-2.0
// The names of the states and events of a bring-up. A test uses them to compare the tables of
// transitions with rfc-notes/fsm.
#include "bring_up/bring_up_fsm.hpp"

#include <utility>

namespace iwarp::rdma_core {
namespace {

using Names = std::array<std::string_view, 5>;

constexpr Names kPeerStateNames{"Listens", "Ready", "Connects", "Accepted", "Connected"};
constexpr Names kPeerEventNames{"ToRts", "Connect", "ConnectOver", "Accept", "Established"};
constexpr Names kWaitStateNames{"New", "Awaits", "Unreachable", "Fails", "Left"};
constexpr Names kWaitEventNames{"ToRts", "Unreachable", "Leave"};

}  // namespace

std::string_view to_string(PeerState state) {
  return kPeerStateNames.at(std::to_underlying(state));
}
std::string_view to_string(PeerEvent event) {
  return kPeerEventNames.at(std::to_underlying(event));
}
std::string_view to_string(WaitState state) {
  return kWaitStateNames.at(std::to_underlying(state));
}
std::string_view to_string(WaitEvent event) {
  return kWaitEventNames.at(std::to_underlying(event));
}

}  // namespace iwarp::rdma_core
