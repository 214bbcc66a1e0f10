// SPDX-License-Identifier: Apache-2.0
// Pair: two queue pairs, the TCP connection between them, and a clock, without sockets, threads or
// sleeps. An example, from test/sim/example.cpp:
//
// <!-- figure: source test/sim/example.cpp | block TEST_CASE("the example -->
// ```cpp
// TEST_CASE("the example: an RDMA Write of 4096 octets") {
//   sim::Pair pair;
//   REQUIRE(pair.establish());
//   Region* from = pair.a->memory(4096, Access::kLocalWrite);
//   Region* to = pair.b->memory(4096, Access::kLocalWrite | Access::kRemoteWrite);
//   from->address[4095] = std::byte{42};
//   const Sge octets = sim::sge(from, 0, 4096);
//   const SendWr wr{.opcode = WrOpcode::kWrite, .sgl = {&octets, 1}, .remote = sim::remote(to)};
//   REQUIRE(!pair.a->qp->post_send(wr));
//   pair.run();
//   CHECK(to->address[4095] == std::byte{42});
// }
// ```
// <!-- end -->
//
// step() and advance() do all that a driver has to do: they move octets from transmit_plan() to
// receive_plan(), carry out socket_action(), and handle timeout(). A link with other rules is made
// of Driver and Direction: `iwarp lab` gives each segment a time of arrival, test/chaos damages it.
//
// Not simulated: the loss and reordering of packets, which TCP hides; TCP's windows and timers; the
// time that octets are in flight; addresses; system calls that fail; threads; datagrams.
#pragma once

#include <random>

#include "iwarp/sim/end.hpp"

namespace iwarp::sim {

/// One direction of a TCP connection. Both drivers must outlive it. Not thread-safe.
class Direction {
 public:
  Direction(Driver& from, Driver& to) : from_(&from), to_(&to) {}

  /// Sends at most `limit` octets, which then are in flight. Returns their number.
  std::size_t send(std::size_t limit = SIZE_MAX);
  /// Puts octets in flight that the connection of the sender has not sent.
  void put(View octets) { log.insert(log.end(), octets.begin(), octets.end()); }
  /// If the sender has nothing left to send, carries out its socket_action(): a FIN or a reset.
  void finish();

  /// Returns the octets in flight.
  View in_flight() const { return View(log).subspan(arrived); }
  /// Delivers at most `limit` of the octets in flight, in one read. Returns their number.
  std::size_t deliver(std::size_t limit = SIZE_MAX);
  /// Delivers the reset, or the FIN if no octets are in flight. Returns whether one has arrived.
  bool deliver_end();
  /// Loses all octets in flight.
  void lose() { arrived = log.size(); }

  std::vector<std::byte> log;   ///< all octets ever sent
  std::size_t arrived = 0;      ///< how many of them are no longer in flight
  bool fin = false;             ///< whether the sender has sent a FIN
  bool reset = false;           ///< whether TCP was reset
  bool over = false;            ///< whether the receiver has seen the FIN or the reset
  bool sent_after_fin = false;  ///< whether the sender sent octets after its FIN

 private:
  Driver* from_;
  Driver* to_;
};

/// How a Pair moves octets.
struct LinkOptions {
  std::uint32_t seed = 1;  ///< chooses the STags, and the number of octets that each step moves
  std::size_t max_segment = 100'000;  ///< maximum number of octets that a step moves
  /// The offset in the stream from initiator to responder at which the link breaks. Both ends then
  /// see a reset.
  std::size_t reset_at = SIZE_MAX;
};

/// Two ends and the link between them. Not thread-safe.
class Pair {
 public:
  /// Creates both ends with their queue pairs, and begins a connection; see renew().
  explicit Pair(const verbs::ConnectionOptions& initiator = {},
                const verbs::ConnectionOptions& responder = {}, const LinkOptions& link = {},
                const verbs::QpInit& init_a = {}, const verbs::QpInit& init_b = {});
  /// Aborts both queue pairs, which would otherwise own the ends that own them.
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  /// Begins a new TCP connection between the same two queue pairs.
  void renew(const verbs::ConnectionOptions& initiator, const verbs::ConnectionOptions& responder);
  /// Connects and accepts. Returns whether both ends are in RTS.
  bool establish(std::uint16_t ird = 16, std::uint16_t ord = 16);
  /// Moves one segment in each direction. Returns whether anything moved.
  bool step();
  /// Steps until nothing moves any more.
  void run();
  /// Advances the clock, handles the timeouts that are due, and runs.
  void advance(mpa::Duration by);
  /// Returns whether the link has broken or an end has reset it.
  bool was_reset() const { return to_a.reset || to_b.reset; }

  TimePoint now{};
  std::shared_ptr<End> a;  ///< initiator
  std::shared_ptr<End> b;  ///< responder
  Direction to_b;
  Direction to_a;

 private:
  std::size_t pick();
  bool send(Direction& way);
  bool deliver(Direction& way);

  LinkOptions link_;
  std::mt19937 random_;
};

}  // namespace iwarp::sim
