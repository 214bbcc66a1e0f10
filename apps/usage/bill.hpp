// SPDX-License-Identifier: Apache-2.0
// The option --cost of commands that transfer data. It prints, on one screen, the processor time of
// this end by component, and what the same transfer would have cost with sockets, a TOE or an RNIC.
#pragma once

#include <optional>
#include <string>

#include "command_line/command.hpp"
#include "common/serving/session.hpp"
#include "usage/host.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::usage {

/// Adds --cost[=HOST] to a command. HOST is the name of a preset or a file that `iwarp cost
/// calibrate` has written; an empty text selects the newest preset.
void add_cost_option(cli::Command& command, std::optional<std::string>& host);

/// Returns the host that --cost names. Throws UsageError if the preset is unknown or the file is
/// invalid.
model::ParameterSet cost_host(const std::string& host);
/// Returns the text that --cost prints about `run`: this end has sent (if `sender` is true) or
/// received `octets` bytes. Each message had `message` bytes, except that the last one may have
/// been shorter.
std::string bill(const model::ParameterSet& host, model::Observed run, double octets,
                 double message, bool sender);

/// Measures the costs of one transfer over a session.
class LiveLedger {
 public:
  /// Starts the measurement. Throws UsageError in the same cases as cost_host().
  LiveLedger(const std::string& host, Session& session)
      : set_(cost_host(host)), session_(session), start_(now()) {}
  /// Returns the bill for everything since the construction of this object.
  std::string text(double octets, double message, bool sender) const {
    return bill(set_, difference(now(), start_), octets, message, sender);
  }

 private:
  model::Observed now() const { return used_so_far(session_.rnic().counters(session_.qp())); }

  model::ParameterSet set_;
  Session& session_;
  model::Observed start_;
};

}  // namespace iwarp::apps::usage
