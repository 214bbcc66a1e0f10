// SPDX-License-Identifier: Apache-2.0
// Tests that the state machine toolkit detects errors in an edge table and produces snapshots.
#include "iwarp/bytes/fsm.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fsm_snapshot.hpp>
#include <string>

namespace {

using namespace iwarp::bytes;

enum class Door { kClosed, kOpen, kLocked };
enum class Act { kPush, kPull, kTurnKey };
using DoorEdge = Edge<Door, Act>;

std::string_view to_string(Door door) { return iwarp::bytes::name_of(door); }
std::string_view to_string(Act act) { return iwarp::bytes::name_of(act); }

constexpr std::array kDoor{
    // This edge leaves kLocked, although no earlier edge of the table leads there.
    DoorEdge{Door::kLocked, Act::kTurnKey, Door::kClosed, "c"},
    DoorEdge{Door::kClosed, Act::kTurnKey, Door::kLocked, "b"},
    DoorEdge{Door::kOpen, Act::kPull, Door::kClosed, "a"},
    DoorEdge{Door::kClosed, Act::kPush, Door::kOpen, "a"},
};

TEST_CASE("a step follows an edge, or fails if there is no edge") {
  static_assert(step(kDoor, Door::kClosed, Act::kPush) == Door::kOpen);
  CHECK(step(kDoor, Door::kLocked, Act::kTurnKey) == Door::kClosed);
  CHECK_FALSE(step(kDoor, Door::kLocked, Act::kPush));
  CHECK_FALSE(step(std::array<DoorEdge, 0>{}, Door::kOpen, Act::kPull));
}

TEST_CASE("enumerators are counted and named as the source names them") {
  static_assert(iwarp::bytes::enumerators<Door>() ==
                std::array{Door::kClosed, Door::kOpen, Door::kLocked});
  CHECK(to_string(Act::kTurnKey) == "TurnKey");
}

TEST_CASE("two edges for the same state and event are not deterministic") {
  static_assert(deterministic(kDoor));
  constexpr std::array doubtful{
      DoorEdge{Door::kClosed, Act::kPush, Door::kOpen, ""},
      DoorEdge{Door::kOpen, Act::kPull, Door::kClosed, ""},
      DoorEdge{Door::kClosed, Act::kPush, Door::kLocked, ""},
  };
  static_assert(!deterministic(doubtful));
  constexpr std::array repeated{kDoor[0], kDoor[0]};
  CHECK_FALSE(deterministic(repeated));
}

TEST_CASE("an edge that no path reaches is found, also in a separate cycle") {
  static_assert(all_reachable(kDoor, Door::kClosed));
  static_assert(all_reachable(kDoor, Door::kOpen));
  constexpr std::array island{
      DoorEdge{Door::kClosed, Act::kPush, Door::kClosed, ""},
      DoorEdge{Door::kOpen, Act::kPull, Door::kLocked, ""},
      DoorEdge{Door::kLocked, Act::kPull, Door::kOpen, ""},
  };
  static_assert(!all_reachable(island, Door::kClosed));
  CHECK_FALSE(all_reachable(std::array{kDoor[0], kDoor[1]}, Door::kOpen));
}

TEST_CASE("the table of a machine has a line for every state and event") {
  CHECK(iwarp::test::fsm_table("door", kDoor) ==
        "# door: state, event, next state, rule; - is an event that has no place there\n"
        "Closed Push Open  a\n"
        "Closed Pull -\n"
        "Closed TurnKey Locked  b\n"
        "Open Push -\n"
        "Open Pull Closed  a\n"
        "Open TurnKey -\n"
        "Locked Push -\n"
        "Locked Pull -\n"
        "Locked TurnKey Closed  c\n");
}

TEST_CASE("the graph of a machine is Graphviz") {
  CHECK(iwarp::test::fsm_graph("door", std::array{kDoor[3]}) ==
        "digraph door {\n  rankdir=LR;\n  node [shape=box];\n"
        "  Closed -> Open [label=\"Push\"];\n}\n");
}

TEST_CASE("a snapshot that differs or is missing is reported with the command that renews it") {
  const auto path = (std::filesystem::temp_directory_path() /
                     ("iwarp-snapshot-" + std::to_string(getpid()) + ".txt"))
                        .string();
  const auto missing = iwarp::test::compare_snapshot(path, "new", false).value();
  CHECK(missing.find("IWARP_UPDATE_SNAPSHOTS=1") != std::string::npos);
  CHECK_FALSE(iwarp::test::compare_snapshot(path, "old", true));
  CHECK_FALSE(iwarp::test::compare_snapshot(path, "old", false));
  CHECK(iwarp::test::compare_snapshot(path, "new", false));
  CHECK(iwarp::test::compare_snapshot("/nonexistent/directory/file", "new", true));
  std::filesystem::remove(path);
}

}  // namespace
