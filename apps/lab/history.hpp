// SPDX-License-Identifier: Apache-2.0
// History: a session that can be stepped forwards and back. What was done is a list of actions; to
// go back is to do them again from the start, but for the last. What lies ahead is kept until
// something else is done.
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
  kOperation,  ///< all that comes of one action of the user
};

class History {
 public:
  History();

  /// "seed=1+markers=both+connect+20+here+24": settings, actions, and where it stands; without
  /// "here" at the end. Error: one line; what was good until then stays.
  std::expected<void, std::string> open(std::string_view script);
  /// The user's; what lay ahead is forgotten.
  std::expected<void, std::string> act(const Action& action);
  /// False: there is nothing to do.
  bool forward(Step step);
  bool back(Step step);

  std::string script() const;
  Session& session() { return *session_; }

  struct Entry {
    Action action;
    bool begun;  ///< a delivery that goes on with the segment of the one before
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
