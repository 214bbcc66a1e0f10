// SPDX-License-Identifier: Apache-2.0
// The names of statuses, opcodes, states and events, in the order of their enumerators.
#include "iwarp/verbs/types.hpp"

#include <array>

namespace iwarp::verbs {
namespace {

template <typename E, std::size_t N>
std::string_view name(const std::array<const char*, N>& names, E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view to_string(WcStatus status) {
  static constexpr std::array kNames{"success",
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
  static constexpr std::array kNames{"Send",
                                     "RDMA Write",
                                     "RDMA Read",
                                     "Local Invalidate",
                                     "Fast-Register",
                                     "Bind Window",
                                     "Receive",
                                     "FetchAdd",
                                     "CmpSwap",
                                     "Receive of Immediate Data",
                                     "Receive of a Send with Immediate Data",
                                     "Receive of a datagram",
                                     "Receive of a datagram with Immediate Data"};
  return name(kNames, opcode);
}

std::string_view to_string(QpState state) {
  static constexpr std::array kNames{"Idle", "RTS", "Terminate", "Closing", "Error"};
  return name(kNames, state);
}

std::string_view to_string(AsyncEventType type) {
  static constexpr std::array kNames{
      "Terminate received", "Terminate sent", "LLP connection lost", "LLP close complete",
      "bad close",          "CQ overflow",    "SRQ limit reached",   "last WQE reached",
      "receive overdue",    "sends drained",  "first message"};
  return name(kNames, type);
}

}  // namespace iwarp::verbs
