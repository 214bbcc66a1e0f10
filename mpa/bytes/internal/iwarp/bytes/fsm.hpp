// SPDX-License-Identifier: Apache-2.0
// State machines as data: a constexpr table of edges, each with the rule that requires it. The
// compiler proves a table deterministic and fully reachable (static_assert). A transition that is
// not in the table does not happen: step() returns nullopt, and the owner of the machine decides
// what that means. The names of states and events are those of their enumerators. This header holds
// no state and knows no protocol.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace iwarp::bytes {

/// Returns the name of an enumerator without its leading k; empty if `kValue` is no enumerator.
template <auto kValue>
constexpr std::string_view enumerator_name() {
  // GCC and clang write "kValue = iwarp::State::kOpen]", or "kValue = (iwarp::State)7]".
  constexpr std::string_view kBegin = "kValue = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(kBegin) + kBegin.size());
  text = text.substr(0, text.find_first_of(";]"));
  text.remove_prefix(text.rfind("::") + 2);
  return text.starts_with('k') ? text.substr(1) : std::string_view{};
}

/// The names of the values 0, 1, 2, ... of an enumeration with fewer than 32 values.
template <typename Enum>
inline constexpr auto kNames = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{enumerator_name<static_cast<Enum>(kIndex)>()...};
}(std::make_index_sequence<32>());

/// Returns the name of the enumerator without its leading k, "Open" for example.
template <typename Enum>
constexpr std::string_view name_of(Enum value) {
  return kNames<Enum>[static_cast<std::size_t>(value)];
}

/// Returns the enumerators of an enumeration, which must have the values 0, 1, 2, ...
template <typename Enum>
constexpr auto enumerators() {
  constexpr std::size_t kCount = [] {
    std::size_t count = 0;
    while (!kNames<Enum>[count].empty()) ++count;
    return count;
  }();
  std::array<Enum, kCount> out;
  for (std::size_t i = 0; i < kCount; ++i) out[i] = static_cast<Enum>(i);
  return out;
}

/// A transition: in state `from`, `event` leads to state `to`; `rfc` names the rule that requires
/// it. A table is a `std::array` of edges, which machine() makes.
template <typename State, typename Event>
struct Edge {
  using StateType = State;
  using EventType = Event;

  State from;
  Event event;
  State to;
  const char* rfc;
};

/// The state type of a table.
template <typename Edges>
using StateOf = typename Edges::value_type::StateType;
/// The event type of a table.
template <typename Edges>
using EventOf = typename Edges::value_type::EventType;

/// Returns the state to which `event` leads from `state`; nullopt if the table has no such edge.
template <typename Edges>
constexpr std::optional<StateOf<Edges>> step(const Edges& edges, StateOf<Edges> state,
                                             EventOf<Edges> event) {
  for (const auto& edge : edges) {
    if (edge.from == state && edge.event == event) return edge.to;
  }
  return std::nullopt;
}

/// Moves `state`, an enum or an atomic enum, along the edge of `event`. Returns the state before. A
/// missing edge is a bug of this stack: it changes nothing, and fails an assertion. Threads must
/// not change the same state at the same time. The store to an atomic is sequentially consistent.
template <typename Edges, typename State>
StateOf<Edges> advance(const Edges& edges, State& state, EventOf<Edges> event) {
  const StateOf<Edges> before = state;
  const auto next = step(edges, before, event);
  assert(next && "not in the table");
  if (next && *next != before) state = *next;
  return before;
}

/// Returns whether the table has at most one edge for each pair of state and event.
template <typename Edges>
constexpr bool deterministic(const Edges& edges) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = i + 1; j < edges.size(); ++j) {
      if (edges[i].from == edges[j].from && edges[i].event == edges[j].event) return false;
    }
  }
  return true;
}

/// Returns whether every edge can be reached from `start`. If so, every state that the table names
/// can be reached too.
template <typename Edges>
constexpr bool all_reachable(const Edges& edges, StateOf<Edges> start) {
  std::array<bool, std::tuple_size_v<Edges>> reached{};
  const auto state_reached = [&](StateOf<Edges> state) {
    bool found = state == start;
    for (std::size_t i = 0; i < edges.size(); ++i) found |= reached[i] && edges[i].to == state;
    return found;
  };
  // Each round reaches at least one more edge, unless all reachable edges have been reached. So
  // edges.size() rounds suffice.
  for (std::size_t round = 0; round < edges.size(); ++round) {
    for (std::size_t i = 0; i < edges.size(); ++i) reached[i] = state_reached(edges[i].from);
  }
  for (const bool edge_reached : reached) {
    if (!edge_reached) return false;
  }
  return true;
}

/// Returns the table of a machine that begins in state `kStart`. Does not compile unless the table
/// is deterministic and every edge can be reached.
template <auto kStart, typename Event, std::size_t kSize>
consteval auto machine(const Edge<decltype(kStart), Event> (&edges)[kSize]) {
  const auto out = std::to_array(edges);
  if (!deterministic(out)) throw "two edges for one state and event";
  if (!all_reachable(out, kStart)) throw "an edge that no path reaches";
  return out;
}

}  // namespace iwarp::bytes
