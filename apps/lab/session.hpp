// SPDX-License-Identifier: Apache-2.0
// Session: two ends of the stack, the link between them, and a clock that advances only when octets
// arrive or a timer expires. The same settings and actions produce the same octets on every
// machine.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "lab/end.hpp"
#include "lab/link.hpp"

namespace iwarp::apps::lab {

class Session {
 public:
  explicit Session(const Settings& settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Performs an action and everything that follows from it immediately. If the action is refused,
  /// returns an error text of one line and leaves the session unchanged.
  std::expected<void, std::string> apply(const Action& action);

  /// The segment that arrives next.
  struct Due {
    Side from;
    std::size_t octets;  ///< octets of the segment still in flight; 0 for a FIN or a reset
    bool begun;          ///< whether some octets of the segment have arrived
  };
  std::optional<Due> due();

  const Settings& settings() const { return settings_; }
  const End& end(Side side) const { return *ends_[static_cast<std::size_t>(side)]; }
  const Link& link() const { return link_; }
  TimePoint now() const { return now_; }

 private:
  using Applied = std::expected<void, std::string>;

  End& at(Side side) { return *ends_[static_cast<std::size_t>(side)]; }
  Applied deliver(std::size_t octets);
  Applied flip(const Action& action);
  Applied wait();
  void settle();

  Settings settings_;
  TimePoint now_;
  std::array<std::shared_ptr<End>, 2> ends_;
  Link link_;
};

}  // namespace iwarp::apps::lab
