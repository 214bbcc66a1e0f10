// SPDX-License-Identifier: Apache-2.0
// The programs at both ends. They turn steps into requests and obey the rules for programs, so that
// the oracle knows every result. Only steps that are wrong on purpose break these rules.
#pragma once

#include "world.hpp"

namespace iwarp::chaos {

class Program {
 public:
  Program(const Plan& plan, Story story) : plan_(plan), story_(story), world_(plan, story) {}

  /// Runs the whole plan until all connections have ended. Throws a Violation if a rule is broken.
  void run();
  std::uint64_t completed() const { return world_.completed; }
  std::uint64_t connections() const;
  std::uint64_t undisturbed() const { return world_.undisturbed; }

 private:
  // Defined in program.cpp:
  void execute(const Step& step);
  void post(Link& link, Side& side, const Step& step);
  void pass(std::uint32_t turns);
  void receive(Link& link, Side& side, std::size_t count);
  void deregister(Link& link, Side& side, const Step& step);
  void end(Link& link, Side& side, Act act);
  void note_end(Link& link, Side& side);

  // Defined in requests.cpp:
  struct Draft;
  bool suits(Link& link, const Side& side, const Step& step) const;
  bool fill(Link& link, Side& side, const Step& step, Draft& draft);
  bool fill_payload(Side& side, const Step& step, Draft& draft);
  bool fill_target(Link& link, Side& side, const Step& step, Draft& draft);
  bool fill_sink(Link& link, Side& side, const Step& step, Draft& draft);
  bool fill_opening(Side& side, const Step& step, Draft& draft);
  bool fill_invalidate(Link& link, Side& side, const Step& step, Draft& draft);
  void fill_immediate(const Step& step, Draft& draft);
  void spoil(Link& link, const Step& step, Draft& draft);
  void fence_if_needed(const Side& side, Draft& draft);
  void submit(Link& link, Side& side, Draft& draft);
  void deliver(Link& link, Side& side, Draft& draft);
  void withdraw(Side& side, Op& op);
  void predict(Side& peer, Op& op);

  // Defined in sessions.cpp:
  void connect(Link& link, const Step& step);
  void settle();
  void top_up();
  bool is_quiet(Link& link);
  bool all_quiet();
  void run_dry();
  void skip_to_time_out();
  void check_quiet(Link& link);
  void close_in_order(Link& link);
  void finish(Link& link);
  void check_over(Link& link, Side& side);
  void finish_side(Link& link, Side& side);
  void check_unused();

  const Plan& plan_;
  Story story_;
  World world_;
};

}  // namespace iwarp::chaos
