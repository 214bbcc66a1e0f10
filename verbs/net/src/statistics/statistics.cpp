// SPDX-License-Identifier: Apache-2.0
// The names and explanations of failed set-ups, as monitoring shows them, and the sums of
// statistics.
#include "iwarp/net/statistics.hpp"

#include <algorithm>
#include <new>

namespace iwarp::net {
namespace {

constexpr std::array kNames{
    "unreachable", "no_room",  "gave_way", "backlog_full", "timed_out",
    "reset",       "protocol", "carrier",  "rejected",     "abandoned",
};
static_assert(kNames.size() == kSetupFailures);

constexpr std::array kMeanings{
    "the TCP connect failed",
    "a limit on pending set-ups was reached, and no pending set-up could be evicted",
    "evicted to admit another peer, because this peer had sent nothing",
    "the backlog of connection requests is full",
    "the peer did not finish the MPA startup in time",
    "the peer closed or reset TCP",
    "the peer violated the MPA startup protocol",
    "transport (TLS) setup failed",
    "the connection was rejected",
    "this program abandoned the set-up",
};
static_assert(kMeanings.size() == kSetupFailures);

}  // namespace

const char* to_string(SetupFailure failure) { return kNames[static_cast<std::size_t>(failure)]; }
const char* meaning(SetupFailure failure) { return kMeanings[static_cast<std::size_t>(failure)]; }

SetupStatistics& SetupStatistics::operator+=(const SetupStatistics& o) {
  begun += o.begun;
  established += o.established;
  for (std::size_t i = 0; i < failed.size(); ++i) failed[i] += o.failed[i];
  return *this;
}

TerminateCount& Statistics::terminate(const bytes::Fault& fault) {
  const auto it = std::ranges::find(terminates, fault, &TerminateCount::fault);
  if (it != terminates.end()) return *it;
  if (terminates.size() == kMaxTerminates) return other_terminates;
  try {
    return terminates.emplace_back(TerminateCount{.fault = fault});
  } catch (const std::bad_alloc&) {
    return other_terminates;
  }
}

void Statistics::add(const verbs::Incidents& incidents) {
  receive_holds += incidents.receive_holds;
  pins_broken += incidents.pins_broken;
  if (incidents.terminate_sent) ++terminate(*incidents.terminate_sent).sent;
  if (incidents.terminate_received) ++terminate(*incidents.terminate_received).received;
}

Statistics& Statistics::operator+=(const Statistics& o) {
  counters += o.counters;
  for (const auto& [device, sums] : o.devices) devices[device] += sums;
  active += o.active;
  passive += o.passive;
  datagrams += o.datagrams;
  accept_pauses += o.accept_pauses;
  receive_holds += o.receive_holds;
  pins_broken += o.pins_broken;
  for (const auto& one : o.terminates) {
    TerminateCount& sum = terminate(one.fault);
    sum.sent += one.sent;
    sum.received += one.received;
  }
  other_terminates.sent += o.other_terminates.sent;
  other_terminates.received += o.other_terminates.received;
  pending_setups += o.pending_setups;
  open_connections += o.open_connections;
  qps += o.qps;
  cqs += o.cqs;
  srqs += o.srqs;
  pds += o.pds;
  return *this;
}

}  // namespace iwarp::net
