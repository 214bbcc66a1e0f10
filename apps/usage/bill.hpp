// SPDX-License-Identifier: Apache-2.0
// The option --cost of the commands that move data: what this end of the run cost the processor by
// component, and what the same run would have cost with sockets, a TOE or an RNIC. One screen of
// text.
#pragma once

#include <optional>
#include <string>

#include "command_line/command.hpp"
#include "common/serving/session.hpp"
#include "usage/host.hpp"
#include "usage/usage.hpp"

namespace iwarp::apps::usage {

/// Adds --cost[=HOST] to a command. Set: a preset's name or a file of iwarp cost calibrate; the
/// empty text stands for the newest preset.
void add_cost_option(cli::Command& command, std::optional<std::string>& host);

/// The host that the option names. UsageError: no such preset, or a bad file.
model::ParameterSet cost_host(const std::string& host);
/// The screen of text about `run`, in which this end moved `octets` in messages of `message`, the
/// last of which may be shorter. `sender`: this end had them.
std::string bill(const model::ParameterSet& host, model::Observed run, double octets,
                 double message, bool sender);

/// Around a transfer of one session.
class LiveLedger {
 public:
  /// Counts from now on. UsageError: as cost_host().
  LiveLedger(const std::string& host, Session& session);
  /// The bill of what happened since.
  std::string text(double octets, double message, bool sender) const;

 private:
  model::Observed now() const;

  model::ParameterSet set_;
  Session& session_;
  model::Observed start_;
};

}  // namespace iwarp::apps::usage
