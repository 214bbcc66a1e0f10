// SPDX-License-Identifier: Apache-2.0
// The names of the states and causes of a datagram queue pair. A test compares the table in
// rfc-notes/fsm with them.
#include "iwarp/verbs/datagram_fsm.hpp"

namespace iwarp::verbs {
namespace {

constexpr std::array<std::string_view, kDatagramStates.size()> kDatagramStateNames{
    "Reset", "Init", "Receiving", "Ready", "Error"};
constexpr std::array<std::string_view, kDatagramCauses.size()> kDatagramCauseNames{
    "InitAsked", "ReceivingAsked", "ReadyAsked", "ErrorAsked", "ResetAsked", "Overflow"};

}  // namespace

std::string_view to_string(DatagramState state) {
  return kDatagramStateNames.at(static_cast<std::size_t>(state));
}

std::string_view to_string(DatagramCause cause) {
  return kDatagramCauseNames.at(static_cast<std::size_t>(cause));
}

}  // namespace iwarp::verbs
