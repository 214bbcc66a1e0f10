// SPDX-License-Identifier: Apache-2.0
// Tables of words, in which the index of a word is the value of its enumerator.
#include "iwarp/trace/log_words.hpp"

#include <array>

#include "iwarp/mpa/startup_fsm.hpp"
#include "iwarp/rdmap/stream_fsm.hpp"
#include "iwarp/verbs/qp_fsm.hpp"

namespace iwarp::trace {
namespace {

using verbs::Machine;

/// Returns the word of `value`, or an empty string if `value` is beyond the last enumerator.
template <typename Enum, std::size_t N>
std::string_view at(const std::array<const char*, N>& words, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? words[index] : "";
}

template <typename Edges>
std::string_view state_in(const Edges& edges, std::string_view text) {
  for (const auto& edge : edges) {
    for (const auto state : {edge.from, edge.to}) {
      if (to_string(state) == text) return to_string(state);
    }
  }
  return {};
}

}  // namespace

std::string_view word(verbs::WorkQueue value) {
  static constexpr std::array kWords{"send", "receive"};
  return at(kWords, value);
}

std::string_view word(verbs::WrOpcode value) {
  static constexpr std::array kWords{"send",          "send_invalidate", "write",
                                     "read",          "read_invalidate", "local_invalidate",
                                     "fast_register", "bind_window",     "fetch_add",
                                     "cmp_swap",      "immediate",       "write_immediate",
                                     "send_immediate"};
  static_assert(kWords.size() == static_cast<std::size_t>(verbs::WrOpcode::kSendImmediate) + 1);
  return at(kWords, value);
}

std::string_view word(verbs::WcOpcode value) {
  static constexpr std::array kWords{"send",
                                     "write",
                                     "read",
                                     "local_invalidate",
                                     "fast_register",
                                     "bind_window",
                                     "receive",
                                     "fetch_add",
                                     "cmp_swap",
                                     "receive_immediate",
                                     "receive_send_immediate"};
  static_assert(kWords.size() == static_cast<std::size_t>(verbs::WcOpcode::kRecvSendImmediate) + 1);
  return at(kWords, value);
}

std::string_view word(verbs::WcStatus value) {
  static constexpr std::array kWords{"success",
                                     "local_length",
                                     "local_qp_operation",
                                     "local_protection",
                                     "flushed",
                                     "window_bind",
                                     "bad_response",
                                     "local_access",
                                     "remote_invalid_request",
                                     "remote_access",
                                     "remote_operation",
                                     "receiver_not_ready",
                                     "no_answer",
                                     "fatal"};
  static_assert(kWords.size() == static_cast<std::size_t>(verbs::WcStatus::kFatal) + 1);
  return at(kWords, value);
}

std::string_view word(verbs::MemoryUse value) {
  static constexpr std::array kWords{"write", "receive", "read_response", "read_source", "atomic"};
  static_assert(kWords.size() == static_cast<std::size_t>(verbs::MemoryUse::kAtomic) + 1);
  return at(kWords, value);
}

std::string_view word(rdmap::AccessError value) {
  static constexpr std::array kWords{"stag_invalid", "out_of_bounds", "no_right",   "other_stream",
                                     "wraps",        "misaligned",    "not_enabled"};
  static_assert(kWords.size() == static_cast<std::size_t>(rdmap::AccessError::kNotEnabled) + 1);
  return at(kWords, value);
}

std::string_view word(Machine value) {
  static constexpr std::array kWords{"mpa_startup", "rdmap_stream", "queue_pair"};
  return at(kWords, value);
}

std::string_view state_of_word(Machine machine, std::string_view text) {
  switch (machine) {
    case Machine::kStartup:
      return state_in(mpa::kStartupEdges, text);
    case Machine::kStream:
      return state_in(rdmap::kStreamEdges, text);
    case Machine::kQueuePair:
      return state_in(verbs::kQpEdges, text);
  }
  return {};
}

}  // namespace iwarp::trace
