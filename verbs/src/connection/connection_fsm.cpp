// SPDX-License-Identifier: Apache-2.0
// The names of a connection's states and causes. A test compares the table in rfc-notes/fsm with
// them.
#include "connection/connection_fsm.hpp"

namespace iwarp::verbs {
namespace {

constexpr std::array<std::string_view, kConnectionStates.size()> kStateNames{
    "Startup",    "Gated",       "GatedClosing", "Open", "Draining",
    "HalfClosed", "Terminating", "Terminated",   "Over"};
constexpr std::array<std::string_view, kConnectionCauses.size()> kCauseNames{
    "FullOperation", "GateOpened",    "CloseRequested", "Drained",
    "StreamEnded",   "TerminateLeft", "Closed",         "Lost"};

}  // namespace

std::string_view to_string(ConnectionState state) {
  return kStateNames.at(static_cast<std::size_t>(state));
}

std::string_view to_string(ConnectionCause cause) {
  return kCauseNames.at(static_cast<std::size_t>(cause));
}

}  // namespace iwarp::verbs
