// SPDX-License-Identifier: Apache-2.0
// Two hosts, the links between them, and virtual time.
#pragma once

#include <string>

#include "side.hpp"
#include "violation.hpp"
#include "wire.hpp"

namespace iwarp::chaos {

struct Link {
  std::uint8_t number = 0;
  const LinkPlan* plan = nullptr;
  const Session* session = nullptr;  ///< null if the link is not connected
  std::array<Side, 2> sides;
  std::vector<Wire> wires;  ///< one per direction, by the sender; empty before the first connection
  bool is_reset = false;
  bool knows_of_reset = false;
  bool lacks_receive = false;
  /// The reason why this connection may end abruptly. Empty if it must not end abruptly.
  std::string cause;
  bool closes = false;      ///< whether an end has requested an orderly close
  bool is_damaged = false;  ///< whether a bit was flipped on a connection that uses CRCs
  std::uint64_t connections = 0;

  // The result is never 0, which is not a valid queue pair number.
  verbs::QpNum qp_num() const { return number + 1U; }
  void blame(const std::string& why) {
    if (cause.empty()) cause = why;
  }
  Side& peer_of(const Side& side) { return &side == sides.data() ? sides[1] : sides[0]; }
  bool is_acknowledged(const Side& side) const;
  /// Returns the IRD of the side's program. Call while there is a session.
  std::uint16_t ird_of(const Side& side) const;
};

struct World {
  World(const Plan& plan, Story story);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Defined in links.cpp, which transfers octets and advances the clock:
  void connect(Link& link, const Session& session);
  /// Runs one turn of every link. Returns whether anything moved.
  bool turn();
  /// Reports to both ends that TCP has failed.
  void cut(Link& link);
  /// Records whether this request, which has begun or is about to begin, may end the connection.
  void judge(Link& link, Side& side, std::size_t index);
  /// Returns the number of messages in flight to `side` for which no receive is posted.
  std::size_t lacking_receives(Link& link, Side& side);
  void lack_receive(Link& link, Side& side);

  // Defined in completions.cpp, which polls the queues and checks every completion:
  void poll();
  /// Treats the requests before `end` as done without a completion.
  void pass_over(Link& link, Side& side, std::size_t end);

  const Plan& plan;
  Story story;
  TimePoint now{};
  std::uint64_t turns = 0;
  std::array<Host, 2> hosts;
  std::vector<std::unique_ptr<Link>> links;
  std::uint64_t completed = 0;    ///< number of completed requests and receives
  std::uint64_t undisturbed = 0;  ///< number of connections that had no cause to end abruptly

 private:
  void make_side(Link& link, std::size_t which);
  bool pump(Link& link);
  void receive(Link& link, std::size_t which);
  bool transmit(Link& link, std::size_t from);
  void put(Link& link, std::size_t from, bytes::View piece);
  void flip(Link& link, std::size_t from, bytes::View piece, std::size_t at, std::byte mask);
  bool deliver(Link& link, std::size_t to);
  void sent_completion(Link& link, Side& side, const verbs::WorkCompletion& wc);
  void receive_completion(Link& link, Side& side, const verbs::WorkCompletion& wc);
  void received(Link& link, Side& side, const verbs::WorkCompletion& wc, const Receive& receive);
  void succeeded(Link& link, Side& side, std::size_t index, const verbs::WorkCompletion& wc);
  void place(Link& link, Side& side, std::size_t end);
  void finish(Side& side, Op& op);
};

}  // namespace iwarp::chaos
