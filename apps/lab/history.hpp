// SPDX-License-Identifier: Apache-2.0
// History: a session with undo and redo. It stores the list of actions. To undo the last action, it
// runs all the others again from the start. Undone actions can be redone until the user performs a
// new action.
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
  kOperation,  ///< an action of the user and all deliveries that follow from it
};

class History {
 public:
  History();

  /// Opens a script, for example "seed=1+markers=both+connect+20+here+24": settings, actions, and
  /// "here" at the current position. Without "here" the current position is the end. If an action
  /// is invalid, returns an error text of one line; the session then contains the actions that
  /// precede the invalid one.
  std::expected<void, std::string> open(std::string_view script);
  /// Performs an action of the user, and discards the actions that were undone.
  std::expected<void, std::string> act(const Action& action);
  /// forward() redoes the next step that was undone; if there is none, it delivers octets. back()
  /// undoes the last step. Both return false if there is nothing to do.
  bool forward(Step step);
  bool back(Step step);

  std::string script() const;
  Session& session() { return *session_; }

  struct Entry {
    Action action;
    /// Whether the action delivers the rest, or a further part, of a segment that has already
    /// arrived in part.
    bool begun;
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
