// SPDX-License-Identifier: Apache-2.0
// The names of the states and events of a link. A test uses them to compare the table of
// transitions with rfc-notes/fsm.
#include "qp/link_fsm.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::array<std::string_view, kLinkStates.size()> kLinkStateNames{"None", "Awaited",
                                                                           "ByHand", "ByCm"};
constexpr std::array<std::string_view, kLinkEvents.size()> kLinkEventNames{"PeerNamed",
                                                                           "Established", "Over"};

}  // namespace

std::string_view to_string(LinkState state) {
  return kLinkStateNames.at(static_cast<std::size_t>(state));
}

std::string_view to_string(LinkEvent event) {
  return kLinkEventNames.at(static_cast<std::size_t>(event));
}

}  // namespace iwarp::rdma_core
