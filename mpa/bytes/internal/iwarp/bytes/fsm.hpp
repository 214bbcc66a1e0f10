// SPDX-License-Identifier: Apache-2.0
// State machines as data: a constexpr table of edges, each with the rule that requires it. The
// compiler proves a table deterministic and fully reachable (static_assert). A transition that is
// not in the table does not happen: step() returns nullopt, and the owner of the machine decides
// what that means. This header holds no state and knows no protocol.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace iwarp::bytes {

/// A transition: in state `from`, `event` leads to state `to`; `rfc` names the rule that requires
/// it. A table is a `std::array` of edges.
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

}  // namespace iwarp::bytes
