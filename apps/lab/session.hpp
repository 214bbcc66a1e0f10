// SPDX-License-Identifier: Apache-2.0
// Session: two ends of the stack, the link between them and a clock that moves only when something
// arrives. The same settings and actions give the same octets on every machine.
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

  /// Performs an action. Fails with one line, and nothing has happened then.
  std::expected<void, std::string> apply(const Action& action);

  /// The octets that would arrive next.
  struct Due {
    Side from;
    std::size_t octets;  ///< 0: a FIN or a reset
    bool begun;          ///< some octets of the segment have arrived
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
  void arrive(Segment& segment, std::size_t octets);
  void settle();
  bool pump(Side side);

  Settings settings_;
  std::array<std::shared_ptr<End>, 2> ends_;
  Link link_;
  TimePoint now_;
};

}  // namespace iwarp::apps::lab
