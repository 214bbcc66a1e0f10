// SPDX-License-Identifier: Apache-2.0
// The names of the states and events of an id. A test uses them to compare the table of transitions
// with rfc-notes/fsm.
#include "cm/id_fsm.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::array<std::string_view, kIdStates.size()> kIdStateNames{
    "Idle",      "Bound",      "AddressResolved", "RouteResolved", "Listening",
    "Requested", "Connecting", "Connected",       "Ended"};
constexpr std::array<std::string_view, kIdEvents.size()> kIdEventNames{
    "Bind",   "ResolveAddress", "ResolveRoute", "Listen", "Request",     "Connect", "ConnectFailed",
    "Accept", "AcceptFailed",   "Answer",       "Reject", "Established", "Over"};

}  // namespace

std::string_view to_string(IdState state) {
  return kIdStateNames.at(static_cast<std::size_t>(state));
}

std::string_view to_string(IdEvent event) {
  return kIdEventNames.at(static_cast<std::size_t>(event));
}

}  // namespace iwarp::rdma_core
