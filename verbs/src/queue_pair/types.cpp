// SPDX-License-Identifier: Apache-2.0
// The names of the values of the verbs enumerations, as in the verbs literature.
#include "iwarp/verbs/types.hpp"

#include <array>

#include "iwarp/verbs/counters.hpp"
#include "iwarp/verbs/qp_fsm.hpp"

namespace iwarp::verbs {
namespace {

template <typename E, std::size_t N>
std::string_view name(const std::array<std::string_view, N>& names, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view to_string(WcStatus status) {
  static constexpr std::array<std::string_view, 14> kNames{"success",
                                                           "local length error",
                                                           "local QP operation error",
                                                           "local protection error",
                                                           "work request flushed",
                                                           "memory window bind error",
                                                           "bad response",
                                                           "local access error",
                                                           "remote invalid request",
                                                           "remote access error",
                                                           "remote operation error",
                                                           "receiver not ready",
                                                           "no answer",
                                                           "fatal error"};
  return name(kNames, status);
}

std::string_view to_string(WcOpcode opcode) {
  static constexpr std::array<std::string_view, 13> kNames{
      "Send",
      "RDMA Write",
      "RDMA Read",
      "Local Invalidate",
      "Fast-Register",
      "Bind Window",
      "Receive",
      "FetchAdd",
      "CmpSwap",
      "Receive of Immediate Data",
      "Receive of Send with Immediate Data",
      "Receive of a datagram",
      "Receive of a datagram with Immediate Data"};
  return name(kNames, opcode);
}

std::string_view to_string(QpState state) {
  static constexpr std::array<std::string_view, 5> kNames{"Idle", "RTS", "Terminate", "Closing",
                                                          "Error"};
  return name(kNames, state);
}

std::string_view to_string(AsyncEventType type) {
  static constexpr std::array<std::string_view, 9> kNames{
      "Terminate received", "Terminate sent",     "LLP connection lost",
      "LLP close complete", "bad close",          "CQ overflow",
      "SRQ limit reached",  "last receive taken", "receive overdue"};
  return name(kNames, type);
}

std::string_view to_string(QpEvent event) {
  static constexpr std::array<std::string_view, 9> kNames{
      "Connected",          "Stream error",     "Terminate received",
      "Close requested",    "Peer closed",      "Peer closed early",
      "Lower layer closed", "Lower layer lost", "Reset"};
  return name(kNames, event);
}

Counters& Counters::operator+=(const Counters& o) {
  octets_placed += o.octets_placed;
  octets_copied += o.octets_copied;
  octets_crced += o.octets_crced;
  octets_sent += o.octets_sent;
  octets_received += o.octets_received;
  fpdus_sent += o.fpdus_sent;
  fpdus_received += o.fpdus_received;
  markers_sent += o.markers_sent;
  markers_received += o.markers_received;
  pad_sent += o.pad_sent;
  pad_received += o.pad_received;
  send_calls += o.send_calls;
  receive_calls += o.receive_calls;
  wait_calls += o.wait_calls;
  wakeups += o.wakeups;
  completions += o.completions;
  registrations += o.registrations;
  return *this;
}

}  // namespace iwarp::verbs
