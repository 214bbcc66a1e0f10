// SPDX-License-Identifier: Apache-2.0
// Prints the complete edge table of a state machine, as text and as a Graphviz graph, and compares
// both with the committed copies in rfc-notes/fsm. Overwrites the copies only if
// IWARP_UPDATE_SNAPSHOTS=1 is set. A change of a state machine is therefore visible in the diff of
// its commit.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::test {

/// Returns to_string() of a state or event if its namespace has that function, and otherwise the
/// name of the enumerator.
template <typename Enum>
std::string_view fsm_word(Enum value) {
  if constexpr (requires { to_string(value); }) {
    return to_string(value);
  } else {
    return bytes::name_of(value);
  }
}

/// Returns one line for every pair of state and event, including pairs without an edge.
template <typename Edges>
std::string fsm_table(std::string_view name, const Edges& edges) {
  std::ostringstream out;
  out << "# " << name
      << ": state, event, next state, rule; - is an event that has no place there\n";
  for (const auto state : bytes::enumerators<bytes::StateOf<Edges>>()) {
    for (const auto event : bytes::enumerators<bytes::EventOf<Edges>>()) {
      out << fsm_word(state) << " " << fsm_word(event);
      const auto next = bytes::step(edges, state, event);
      out << " " << (next ? fsm_word(*next) : "-");
      for (const auto& edge : edges) {
        if (edge.from == state && edge.event == event) out << "  " << edge.rfc;
      }
      out << "\n";
    }
  }
  return out.str();
}

template <typename Edges>
std::string fsm_graph(std::string_view name, const Edges& edges) {
  std::ostringstream out;
  out << "digraph " << name << " {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const auto& edge : edges) {
    out << "  " << fsm_word(edge.from) << " -> " << fsm_word(edge.to) << " [label=\""
        << fsm_word(edge.event) << "\"];\n";
  }
  out << "}\n";
  return out.str();
}

/// Compares `text` with the file at `path`, or writes `text` to that file if `update` is set.
/// Returns nullopt if they agree, else the difference and how to fix it.
inline std::optional<std::string> compare_snapshot(const std::string& path, const std::string& text,
                                                   bool update) {
  if (update) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    return out.flush() ? std::nullopt : std::optional<std::string>("cannot write " + path);
  }
  std::ifstream in(path, std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in && kept == text) return std::nullopt;
  return path + " is not what the code says. When the change is meant, run this test once with " +
         "IWARP_UPDATE_SNAPSHOTS=1 and commit the file. The code says:\n" + text;
}

/// Checks that rfc-notes/fsm/<name>.txt and <name>.dot show the state machine in the code.
template <typename Edges>
void check_fsm(const std::string& name, const Edges& edges) {
  const char* value = std::getenv("IWARP_UPDATE_SNAPSHOTS");
  const bool update = value && std::string_view(value) == "1";
  const std::string base = std::string(IWARP_SOURCE_DIR) + "/rfc-notes/fsm/" + name;
  for (const auto& [suffix, text] :
       {std::pair(".txt", fsm_table(name, edges)), std::pair(".dot", fsm_graph(name, edges))}) {
    const auto wrong = compare_snapshot(base + suffix, text, update);
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
  }
}

}  // namespace iwarp::test
