// SPDX-License-Identifier: Apache-2.0
// History: a session that can be stepped forwards and back. It is a list of actions; a step back
// repeats all of them from the start, except the last. Undone actions are kept until there is a new
// one.
#pragma once

#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/session.hpp"

namespace iwarp::apps::lab {

enum class Step : std::uint8_t {
  kOctet,
  kSegment,
  kOperation,  ///< everything that follows from one action of the user
};

class History {
 public:
  History();

  /// Opens "seed=1+markers=both+connect+20+here+24", for example: settings, actions, and the
  /// current place; without "here", that is the end. Fails with one line, and stays at the last
  /// good action.
  std::expected<void, std::string> open(std::string_view script);
  /// Performs an action of the user, and forgets the undone ones.
  std::expected<void, std::string> act(const Action& action);
  /// Return false if there is nothing to do.
  bool forward(Step step);
  bool back(Step step);

  std::string script() const;
  Session& session() { return *session_; }

  struct Entry {
    Action action;
    bool begun;  ///< a delivery that continues the segment of the previous one
  };
  const std::vector<Entry>& done() const { return done_; }
  const std::deque<Entry>& ahead() const { return ahead_; }

  static constexpr std::size_t kMaxScript = 256 * 1024;

 private:
  bool perform(const Action& action);
  bool perform_next();
  bool deliver(Step step);
  void put_back(Entry entry);
  void replay();

  Settings settings_;
  std::unique_ptr<Session> session_;
  std::vector<Entry> done_;
  std::deque<Entry> ahead_;
};

}  // namespace iwarp::apps::lab
